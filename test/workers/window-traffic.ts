import { parentPort, workerData } from 'node:worker_threads';
import { attach, type LimiterHandle, ManualClock } from '../../src/index.ts';
import type { WindowKind } from '../support/window-kinds.ts';
import { Gate } from '../support/window-threads.ts';

export interface TrafficData {
  readonly handle: LimiterHandle<WindowKind>;
  readonly start: SharedArrayBuffer;
  readonly stop: SharedArrayBuffer;
  readonly maxTokens: number;
  /** One call in fifty moves a manual clock by up to this many microseconds; 0 disables it. */
  readonly stepUs: number;
  /** Tokens admitted, counted after each call, for threads that are killed before they report. */
  readonly tally: SharedArrayBuffer;
}

/**
 * The admissions of one round, as pairs of the clock reading on which they are based, and tokens.
 */
export type TrafficRound = Float64Array;

const CALLS_A_ROUND = 2_000;

const { handle, start, stop, maxTokens, stepUs, tally } = workerData as TrafficData;
const limiter = attach(handle);
const clock = limiter.clock;
const now = clock.now.bind(clock);
let readUs = Number.NaN;
clock.now = () => {
  readUs = now();
  return readUs;
};
const mover = handle.clock.name === 'manual' ? ManualClock.attach(handle.clock) : undefined;
const stopGate = new Gate(stop);
const told = new Int32Array(tally);

parentPort?.postMessage('ready');
new Gate(start).pass();
while (!stopGate.isOpen) {
  const log: number[] = [];
  for (let i = 0; i < CALLS_A_ROUND; i++) {
    if (stepUs > 0 && Math.random() < 0.02) mover?.advance((Math.random() * stepUs) / 1000);
    const n = 1 + Math.floor(Math.random() * maxTokens);
    const admitted = i % 2 === 0 ? limiter.consumeOrDrain(n) : limiter.tryConsume(n) ? n : 0;
    if (admitted === 0) continue;
    Atomics.add(told, 0, admitted);
    log.push(readUs, admitted);
  }
  parentPort?.postMessage(Float64Array.from(log) satisfies TrafficRound);
}
