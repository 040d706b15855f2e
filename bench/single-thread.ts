import { Bench, type FnReturnedObject, type Task } from 'tinybench';
import { systemClock, TokenBucket } from '../src/index.ts';
import type { Settings } from './settings.ts';
import { printTable } from './table.ts';

/** A call is as short as the timer's own, so one sample is the average of so many. */
const CALLS_PER_SAMPLE = 256;

/** Depends on every result, so that no call can be left out. */
let answers = 0;

function addCall(bench: Bench, name: string, call: () => unknown): void {
  bench.add(name, (): FnReturnedObject => {
    const start = bench.now();
    for (let i = 0; i < CALLS_PER_SAMPLE; i++) if (call() !== undefined) answers++;
    const elapsed = bench.now() - start;
    return { overriddenDuration: elapsed / CALLS_PER_SAMPLE, overriddenIterationCost: elapsed };
  });
}

function addCalls(bench: Bench): void {
  const plenty = TokenBucket.create({ rate: 1e9, burst: 1e12, initial: 5e11 });
  const empty = TokenBucket.create({ rate: 1e-3, burst: 1, initial: 0 });
  const changing = TokenBucket.create({ rate: 1e9, burst: 1e9 });
  let rate = 1e9;
  addCall(bench, 'nothing (the loop alone)', () => 0);
  addCall(bench, 'clock.now', () => systemClock.now());
  addCall(bench, 'tryConsume, admits', () => plenty.tryConsume());
  addCall(bench, 'tryConsume, refuses', () => empty.tryConsume());
  addCall(bench, 'acquire', () => plenty.acquire(1, 1000));
  addCall(bench, 'consumeOrDrain, all there', () => plenty.consumeOrDrain(8));
  addCall(bench, 'consumeOrDrain, none there', () => empty.consumeOrDrain(8));
  addCall(bench, 'decide', () => plenty.decide());
  addCall(bench, 'reserve + cancel', () => plenty.reserve()?.cancel());
  addCall(bench, 'balance', () => plenty.balance());
  addCall(bench, 'returnTokens', () => plenty.returnTokens(1));
  addCall(bench, 'reconfigure', () => {
    rate = 3e9 - rate;
    changing.reconfigure({ rate });
  });
}

function rowOf({ name, result }: Task): string[] {
  if (result.state === 'errored') throw result.error;
  if (result.state !== 'completed') throw new Error(`${name} is ${result.state}`);
  const { p50, min, p99, samplesCount } = result.latency;
  return [name, ...[p50, min, p99].map((ms) => (ms * 1e6).toFixed(1)), String(samplesCount)];
}

/** What each operation costs where nobody contends. */
export async function benchSingleThread(settings: Settings): Promise<void> {
  const time = settings.taskMs;
  const bench = new Bench({ time, warmupTime: time, timestampProvider: 'hrtimeNow' });
  addCalls(bench);
  bench.runSync();
  if (answers === 0) throw new Error('nothing was measured');
  printTable(
    `One thread: ns for a call with its clock read. A sample is the average of ${CALLS_PER_SAMPLE} calls.`,
    ['call', 'p50', 'min', 'p99', 'samples'],
    bench.tasks.map(rowOf),
  );
}
