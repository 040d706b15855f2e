import { expect, test } from 'vitest';
import {
  type Clock,
  FixedWindow,
  KeyedFixedWindow,
  type LeakyBucket,
  type LimitSet,
  ManualClock,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { continuous } from '../../src/kernel/bucket/schedule.ts';
import { createKeyedCell, tableLimits } from '../../src/kernel/keyed/cell.ts';
import { openKeyed } from '../../src/kernel/keyed/host.ts';
import { type Granted, mostBeyond } from '../oracle/bound.ts';
import { LIMITED, takerOf } from '../support/kinds.ts';
import { StalledClock } from '../support/own-clock.ts';
import { Random, SEED } from '../support/random.ts';

// A thread that changes a limit reads its clock, and may then stand still while others call. Nothing
// of a higher rate may arrive from before their calls. Simulated by a clock that makes those calls
// after it was read.

const HOUR_MS = 3600e3;
const STILL_MS = 10;

interface Limiter {
  tryConsume(tokens?: number): boolean;
}

/** Takes token by token, and returns the number. */
function takeAll(limiter: Limiter): number {
  let taken = 0;
  while (taken < 1000 && limiter.tryConsume()) taken++;
  return taken;
}

/** Admits 10 at once and hardly any later, while its rate is not raised. */
interface Raised {
  readonly limiter: Limiter;
  readonly raise: () => void;
}
interface Changed extends Raised {
  readonly lower: () => void;
}

const SLOW = { rate: 0.001, burst: 10 };
const FAST_RATE = 10_000;
const SLOW_WINDOW = { limit: 10, intervalMs: 60_000 };

function changed(limiter: Limiter, set: (rate: number) => void): Changed {
  return { limiter, raise: () => set(FAST_RATE), lower: () => set(SLOW.rate) };
}

const OTHER = { rate: 1e6, burst: 100 };

const BUCKETS = LIMITED.map((one): [name: string, make: (clock: Clock) => Changed] => [
  one.name,
  (clock) => {
    const made = one.make(one.counts.length > 1 ? [SLOW, OTHER] : [SLOW], { clock });
    return changed(takerOf(made, 1, one.tier), (rate) => one.put(made, [{ rate }, {}]));
  },
]);

test.each(BUCKETS)('a higher rate does not refill a %s from before it was emptied', (_, make) => {
  const clock = new StalledClock();
  const { limiter, raise } = make(clock);
  takeAll(limiter);
  clock.advance(100 * HOUR_MS);
  clock.stall(STILL_MS, () => expect(takeAll(limiter)).toBe(10));
  raise();
  expect(takeAll(limiter)).toBe(0);
});

test.each(BUCKETS)('a lower rate does not let a %s owe what was taken before it', (_, make) => {
  const clock = new StalledClock();
  const { limiter, raise, lower } = make(clock);
  raise();
  clock.advance(HOUR_MS);
  let taken = 0;
  clock.stall(0, () => {
    for (let i = 0; i < 10; i++) {
      clock.advance(STILL_MS);
      taken += takeAll(limiter);
    }
  });
  lower();
  expect(taken).toBe(100);
  // The first token at the lower rate.
  clock.advance(1e3 / SLOW.rate);
  expect(takeAll(limiter)).toBe(1);
});

const WINDOWS: Record<string, (clock: Clock) => Raised> = {
  FixedWindow(clock) {
    const limiter = FixedWindow.create({ ...SLOW_WINDOW, clock });
    return { limiter, raise: () => limiter.reconfigure({ limit: 12 }) };
  },
  SlidingWindow(clock) {
    const limiter = SlidingWindow.create({ ...SLOW_WINDOW, limit: 12, clock });
    limiter.reconfigure({ limit: 10 });
    return { limiter, raise: () => limiter.reconfigure({ limit: 12 }) };
  },
  'key of a KeyedFixedWindow'(clock) {
    const table = KeyedFixedWindow.create({ ...SLOW_WINDOW, capacity: 4, clock });
    const limiter = { tryConsume: () => table.for('ann').tryConsume() };
    return { limiter, raise: () => table.reconfigure({ limit: 12 }) };
  },
};

test.each(Object.entries(WINDOWS))('a higher limit keeps what a %s counted', (_, make) => {
  const clock = new StalledClock();
  const { limiter, raise } = make(clock);
  takeAll(limiter);
  clock.advance(100 * HOUR_MS);
  // The others' calls are the first ones of a new window.
  clock.stall(60e3, () => expect(takeAll(limiter)).toBe(10));
  raise();
  expect(takeAll(limiter)).toBe(2);
});

test('a call at an older instant that names a faster tier adds nothing', () => {
  const schedules = [continuous(SLOW.rate, 10), continuous(10_000, 10)] as const;
  const place = createKeyedCell({
    ...{ kind: 'keyed-token-bucket', limits: tableLimits(schedules), tiers: ['pro'], nowUs: 0 },
    ...{ capacity: 4, whenFull: 'refuse', stats: false, region: undefined },
  });
  const nowUs = 1000 * HOUR_MS;
  const table = openKeyed(place, () => nowUs, undefined);
  table.seek(1, 1, 0);
  expect(table.acquire(nowUs, 9, 0)).toBe(0);
  table.seek(1, 1, 1);
  table.charge(nowUs - 1000 * STILL_MS, 1);
  expect(table.balance(nowUs)).toBe(0);
});

test.each(LIMITED.filter(({ tier }) => tier === undefined))(
  'two changes of a $name at once are both in force if they name different fields',
  ({ make, put }) => {
    const clock = new StalledClock();
    const made = make([SLOW], { clock });
    clock.stall(0, () => put(made, [{ burst: 7 }]));
    put(made, [{ rate: 5 }]);
    const { rate, burst, slack = NaN, limits } = made as Partial<LimitSet & LeakyBucket>;
    expect(limits?.[0] ?? { rate, burst: burst ?? slack + 1 }).toEqual({ rate: 5, burst: 7 });
  },
);

// https://github.com/golang/go/issues/71360, https://github.com/golang/go/issues/65508 and
// https://github.com/tikv/pd/issues/10744: a caller reads the clock, waits for a lock and writes
// its stale time into the limiter, so the tokens since then flow in a second time.

/** Each returns the tokens that it got, if any. */
const CALLS: Readonly<Record<string, (bucket: TokenBucket) => unknown>> = {
  tryConsume: (bucket) => bucket.tryConsume(),
  consumeOrDrain: (bucket) => bucket.consumeOrDrain(100),
  decide: (bucket) => bucket.decide().allowed,
  returnTokens: (bucket) => bucket.returnTokens(0),
  'reserve and cancel': (bucket) => void bucket.reserve()?.cancel(),
  reconfigure: (bucket) => bucket.reconfigure({ burst: bucket.burst }),
};

test.each(Object.entries(CALLS))(
  'mints no token: %s by a thread descheduled after reading the clock',
  (_, call) => {
    const clock = new StalledClock();
    const bucket = TokenBucket.create({ rate: 1000, burst: 10, clock });
    let admitted = bucket.consumeOrDrain(100);
    clock.stall(STILL_MS, () => {
      admitted += bucket.consumeOrDrain(100);
    });
    const got = Number(call(bucket) ?? 0);
    admitted += got;
    expect([admitted, bucket.balance()]).toEqual([20, 0]);
    clock.advance(1.5);
    admitted += bucket.consumeOrDrain(100);
    expect(admitted, 'burst + rate x t').toBe(21);
    expect(bucket.balance()).toBe(0.5);
  },
);

// docs/tuning.md: "As with a period, late readings widen the bound"
test(`late readings add the tokens of their lateness at most (seed ${SEED})`, () => {
  const [rate, burst, lateMs] = [1000, 10, 7];
  const random = new Random(SEED);
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate, burst, clock });
  const granted: Granted[] = [];
  for (let ms = 0; ms < 5000; ms++) {
    clock.set(Math.max(clock.nowMs, ms - random.below(lateMs + 1)));
    // Idle until it is full, then as fast as it goes.
    const n = ms % 60 < 30 ? 0 : bucket.consumeOrDrain(100);
    if (n > 0) granted.push({ atUs: ms * 1000, n });
  }
  const { beyond, text } = mostBeyond(granted, [{ atUs: 0, rate }]);
  expect(beyond, text).toBeLessThanOrEqual(burst + (rate * lateMs) / 1000);
  expect(beyond).toBeGreaterThan(burst);
});
