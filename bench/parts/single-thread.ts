import { Bench, type FnReturnedObject, type Task } from 'tinybench';
import {
  allOf,
  attach,
  FixedWindow,
  LeakyBucket,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  systemClock,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import type { Section } from '../section.ts';
import type { Settings } from '../settings.ts';

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
  addCall(bench, 'available', () => plenty.available());
  addCall(bench, 'timeUntil', () => empty.timeUntil(1));
  addCall(bench, 'reconfigure', () => {
    rate = 3e9 - rate;
    changing.reconfigure({ rate });
  });
  addCall(bench, 'attach', () => attach(plenty.handle));
}

/** One admission by each of the other limiters. */
function addLimiters(bench: Bench): void {
  const leaky = LeakyBucket.create({ rate: 4e9, slack: 1e9 });
  const fixed = FixedWindow.create({ limit: 1e9, intervalMs: 1000 });
  const sliding = SlidingWindow.create({ limit: 1e8, intervalMs: 1000 });
  const log = SlidingLog.create({ limit: 100_000, intervalMs: 1 });
  const both = allOf(TokenBucket.create({ rate: 1e9, burst: 1e9 }), fixed);
  const sometimes = Sometimes.create({ first: 1, intervalMs: 1000 });
  const keyed = KeyedTokenBucket.create({ rate: 1e9, burst: 1e9, capacity: 1000 });
  addCall(bench, 'LeakyBucket, tryConsume', () => leaky.tryConsume());
  addCall(bench, 'FixedWindow, tryConsume', () => fixed.tryConsume());
  addCall(bench, 'SlidingWindow, tryConsume', () => sliding.tryConsume());
  addCall(bench, 'SlidingLog, tryConsume', () => log.tryConsume());
  addCall(bench, 'allOf a bucket and a window', () => both.tryConsume());
  addCall(bench, 'Sometimes, isDue', () => sometimes.isDue());
  addCall(bench, 'KeyedTokenBucket, one key', () => keyed.tryConsume('user-000000000000001'));
}

function rowOf({ name, result }: Task): string[] {
  if (result.state === 'errored') throw result.error;
  if (result.state !== 'completed') throw new Error(`${name} is ${result.state}`);
  const { p50, min, p99, samplesCount } = result.latency;
  return [name, ...[p50, min, p99].map((ms) => (ms * 1e6).toFixed(1)), String(samplesCount)];
}

/** What each operation costs where nobody contends. */
export async function benchSingleThread(settings: Settings): Promise<Section> {
  const time = settings.taskMs;
  const bench = new Bench({ time, warmupTime: time, timestampProvider: 'hrtimeNow' });
  addCalls(bench);
  addLimiters(bench);
  bench.runSync();
  if (answers === 0) throw new Error('nothing was measured');
  return {
    title: 'One call',
    text: `Nanoseconds for a call with its clock reading, where nobody contends; \`clock.now\` shows what that takes.
A sample is the average of ${CALLS_PER_SAMPLE} calls.`,
    head: ['call', 'p50', 'min', 'p99', 'samples'],
    rows: bench.tasks.map(rowOf),
  };
}
