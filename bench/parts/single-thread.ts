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
import { CALL_HEAD, CALLS_PER_SAMPLE, CallBench } from '../calls.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';

const ONE = 'tryConsume, admits';
const TWO = 'allOf two buckets';
/** At most this many times the call of one bucket. */
const AIM_TWO = 2.2;

/** Admits every call. */
function plentiful(): TokenBucket {
  return TokenBucket.create({ rate: 1e9, burst: 1e12, initial: 5e11 });
}

function addCalls(bench: CallBench): void {
  const plenty = plentiful();
  const empty = TokenBucket.create({ rate: 1e-3, burst: 1, initial: 0 });
  const changing = TokenBucket.create({ rate: 1e9, burst: 1e9 });
  let rate = 1e9;
  bench.add('nothing (the loop alone)', () => 0);
  bench.add('clock.now', () => systemClock.now());
  bench.add(ONE, () => plenty.tryConsume());
  bench.add('tryConsume, refuses', () => empty.tryConsume());
  bench.add('acquire', () => plenty.acquire(1, 1000));
  bench.add('consumeOrDrain, all there', () => plenty.consumeOrDrain(8));
  bench.add('consumeOrDrain, none there', () => empty.consumeOrDrain(8));
  bench.add('decide', () => plenty.decide());
  bench.add('reserve + cancel', () => empty.reserve()?.cancel());
  bench.add('balance', () => plenty.balance());
  bench.add('returnTokens', () => plenty.returnTokens(1));
  bench.add('available', () => plenty.available());
  bench.add('timeUntil', () => empty.timeUntil(1));
  bench.add('reconfigure', () => {
    rate = 3e9 - rate;
    changing.reconfigure({ rate });
  });
  bench.add('attach', () => attach(plenty.handle));
}

/** One admission by each of the other limiters. */
function addLimiters(bench: CallBench): void {
  const leaky = LeakyBucket.create({ rate: 4e9, slack: 1e9 });
  const fixed = FixedWindow.create({ limit: 1e9, intervalMs: 1000 });
  const sliding = SlidingWindow.create({ limit: 1e8, intervalMs: 1000 });
  const log = SlidingLog.create({ limit: 100_000, intervalMs: 1 });
  const both = allOf(TokenBucket.create({ rate: 1e9, burst: 1e9 }), fixed);
  const two = allOf(plentiful(), plentiful());
  const sometimes = Sometimes.create({ first: 1, intervalMs: 1000 });
  const keyed = KeyedTokenBucket.create({ rate: 1e9, burst: 1e9, capacity: 1000 });
  bench.add('LeakyBucket, tryConsume', () => leaky.tryConsume());
  bench.add('FixedWindow, tryConsume', () => fixed.tryConsume());
  bench.add('SlidingWindow, tryConsume', () => sliding.tryConsume());
  bench.add('SlidingLog, tryConsume', () => log.tryConsume());
  bench.add('allOf a bucket and a window', () => both.tryConsume());
  bench.add(TWO, () => two.tryConsume());
  bench.add('Sometimes, isDue', () => sometimes.isDue());
  bench.add('KeyedTokenBucket, one key', () => keyed.tryConsume('user-000000000000001'));
}

/** The cost of each operation without contention. */
export async function benchSingleThread(settings: Settings): Promise<Section> {
  const bench = new CallBench(settings.taskMs);
  addCalls(bench);
  addLimiters(bench);
  const rows = bench.rows();
  const median = (name: string) => Number(rows.find(([call]) => call === name)?.[1]);
  return {
    title: 'One call',
    text: `Nanoseconds for a call without contention, including its clock reading, which \`clock.now\` shows alone.
A sample is the average of ${CALLS_PER_SAMPLE} calls.`,
    head: CALL_HEAD,
    rows,
    aims: [
      {
        measure: `${TWO}, times one bucket`,
        measured: (median(TWO) / median(ONE)).toFixed(2),
        aim: `at most ${AIM_TWO}`,
      },
    ],
  };
}
