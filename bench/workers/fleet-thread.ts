import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../src/index.ts';
import { type FleetHandle, FleetSpender } from '../../src/integrations/redis.ts';

/** A thread that requests `perMs` tokens every millisecond, one by one. */
export interface FleetThreadTask {
  readonly handle: FleetHandle;
  readonly perMs: number;
}

/** The period of a run, in instants of the system clock. */
export interface FleetStretch {
  readonly startUs: number;
  readonly endUs: number;
}

/** The spends of a thread, three numbers each: from, to, tokens. */
export type FleetLog = Float64Array;

const STEP_US = 1000;
const { handle, perMs }: FleetThreadTask = workerData;
const spender = FleetSpender.attach(handle);

parentPort?.once('message', ({ startUs, endUs }: FleetStretch) => {
  const log: number[] = [];
  for (let nextUs = startUs; nextUs < endUs; nextUs += STEP_US) {
    systemClock.sleepSync(nextUs);
    const fromUs = systemClock.now();
    let tokens = 0;
    while (tokens < perMs && spender.tryConsume()) tokens++;
    if (tokens > 0) log.push(fromUs, systemClock.now(), tokens);
  }
  parentPort?.postMessage(Float64Array.from(log) satisfies FleetLog);
});
parentPort?.postMessage('ready');
