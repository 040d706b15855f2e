import { expect, test } from 'vitest';
import {
  type Clock,
  FixedWindow,
  KeyedFixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  LeakyBucket,
  LimitSet,
  ManualClock,
  SlidingWindow,
  systemClock,
  TokenBucket,
} from '../../src/index.ts';
import { continuous } from '../../src/kernel/bucket/schedule.ts';
import { createKeyedCell, tableLimits } from '../../src/kernel/keyed/cell.ts';
import { openKeyed } from '../../src/kernel/keyed/host.ts';
import { type Granted, mostBeyond } from '../oracle/bound.ts';
import { Crew } from '../support/crew.ts';
import { Gate } from '../support/gate.ts';
import { Random, SEED } from '../support/random.ts';

// A thread that changes a limit reads its clock, and may then stand still while others call. Nothing
// of a higher rate may arrive from before their calls. Simulated by a clock that makes those calls
// after it was read.

const HOUR_US = 3600e6;
const STILL_US = 10_000;

class StalledClock implements Clock {
  readonly name = 'stalled';
  readonly handle = systemClock.handle;
  readonly sleep = systemClock.sleep;
  readonly sleepSync = systemClock.sleepSync;
  #us = 0;
  #stalled: (() => void) | undefined;

  now(): number {
    const us = this.#us;
    const stalled = this.#stalled;
    this.#stalled = undefined;
    stalled?.();
    return us;
  }

  advance(us: number): void {
    this.#us += us;
  }

  /** Lets time pass and calls happen right after the next reading, which a thread then uses. */
  stall(us: number, calls: () => void): void {
    this.#stalled = () => {
      this.advance(us);
      calls();
    };
  }
}

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

const BUCKETS: Record<string, (clock: Clock) => Changed> = {
  TokenBucket(clock) {
    const limiter = TokenBucket.create({ ...SLOW, clock });
    return changed(limiter, (rate) => limiter.reconfigure({ rate }));
  },
  LeakyBucket(clock) {
    const limiter = LeakyBucket.create({ rate: SLOW.rate, slack: 9, clock });
    return changed(limiter, (rate) => limiter.reconfigure({ rate }));
  },
  LimitSet(clock) {
    const limiter = LimitSet.create({ limits: [SLOW, { rate: 1e6, burst: 100 }], clock });
    return changed(limiter, (rate) => limiter.reconfigure({ limits: [{ rate }, {}] }));
  },
  'key of a KeyedTokenBucket'(clock) {
    const table = KeyedTokenBucket.create({ ...SLOW, capacity: 4, clock });
    const limiter = { tryConsume: () => table.for('ann').tryConsume() };
    return changed(limiter, (rate) => table.reconfigure({ rate }));
  },
  'key of a KeyedLimitSet'(clock) {
    const limits = [SLOW, { rate: 1e6, burst: 100 }];
    const table = KeyedLimitSet.create({ limits, capacity: 4, clock });
    const limiter = { tryConsume: () => table.for('ann').tryConsume() };
    return changed(limiter, (rate) => table.reconfigure({ limits: [{ rate }, {}] }));
  },
};

test.each(Object.entries(BUCKETS))(
  'a higher rate does not refill a %s from before it was emptied',
  (_, make) => {
    const clock = new StalledClock();
    const { limiter, raise } = make(clock);
    takeAll(limiter);
    clock.advance(100 * HOUR_US);
    clock.stall(STILL_US, () => expect(takeAll(limiter)).toBe(10));
    raise();
    expect(takeAll(limiter)).toBe(0);
  },
);

test.each(Object.entries(BUCKETS))(
  'a lower rate does not let a %s owe what was taken before it',
  (_, make) => {
    const clock = new StalledClock();
    const { limiter, raise, lower } = make(clock);
    raise();
    clock.advance(HOUR_US);
    let taken = 0;
    clock.stall(0, () => {
      for (let i = 0; i < 10; i++) {
        clock.advance(STILL_US);
        taken += takeAll(limiter);
      }
    });
    lower();
    expect(taken).toBe(100);
    // The first token at the lower rate.
    clock.advance(1e6 / SLOW.rate);
    expect(takeAll(limiter)).toBe(1);
  },
);

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
  clock.advance(100 * HOUR_US);
  // The others' calls are the first ones of a new window.
  clock.stall(60e6, () => expect(takeAll(limiter)).toBe(10));
  raise();
  expect(takeAll(limiter)).toBe(2);
});

test('a call at an older instant that names a faster tier adds nothing', () => {
  const schedules = [continuous(SLOW.rate, 10), continuous(10_000, 10)] as const;
  const place = createKeyedCell({
    ...{ kind: 'keyed-token-bucket', limits: tableLimits(schedules), tiers: ['pro'], nowUs: 0 },
    ...{ capacity: 4, whenFull: 'refuse', stats: false, region: undefined },
  });
  const nowUs = HOUR_US;
  const table = openKeyed(place, () => nowUs, undefined);
  table.seek(1, 1, 0);
  expect(table.acquire(nowUs, 9, 0)).toBe(0);
  table.seek(1, 1, 1);
  table.charge(nowUs - STILL_US, 1);
  expect(table.balance(nowUs)).toBe(0);
});

const CHANGED: Record<
  string,
  (clock: Clock) => { set(change: Partial<typeof SLOW>): void; limit: unknown }
> = {
  TokenBucket(clock) {
    const bucket = TokenBucket.create({ ...SLOW, clock });
    return {
      set: (change) => bucket.reconfigure(change),
      get limit() {
        return { rate: bucket.rate, burst: bucket.burst };
      },
    };
  },
  LeakyBucket(clock) {
    const bucket = LeakyBucket.create({ rate: SLOW.rate, slack: SLOW.burst, clock });
    return {
      set: ({ burst, ...rate }) =>
        bucket.reconfigure(burst === undefined ? rate : { ...rate, slack: burst }),
      get limit() {
        return { rate: bucket.rate, burst: bucket.slack };
      },
    };
  },
  LimitSet(clock) {
    const set = LimitSet.create({ limits: [SLOW], clock });
    return {
      set: (change) => set.reconfigure({ limits: [change] }),
      get limit() {
        return set.limits[0];
      },
    };
  },
  KeyedTokenBucket(clock) {
    const table = KeyedTokenBucket.create({ ...SLOW, capacity: 4, clock });
    return {
      set: (change) => table.reconfigure(change),
      get limit() {
        return { rate: table.rate, burst: table.burst };
      },
    };
  },
};

test.each(Object.entries(CHANGED))(
  'two changes of a %s at once are both in force if they name different fields',
  (_, make) => {
    const clock = new StalledClock();
    const limiter = make(clock);
    clock.stall(0, () => limiter.set({ burst: 7 }));
    limiter.set({ rate: 5 });
    expect(limiter.limit).toEqual({ rate: 5, burst: 7 });
  },
);

// https://github.com/golang/go/issues/71360, https://github.com/golang/go/issues/65508 and
// https://github.com/tikv/pd/issues/10744: a caller reads the clock, waits for a lock and writes
// its stale time into the limiter, so the tokens since then flow in a second time.

const CALLS = [
  'tryConsume',
  'consumeOrDrain',
  'decide',
  'returnTokens',
  'reserve and cancel',
  'reconfigure',
] as const;

test.each(CALLS)(
  'mints no token: %s on a thread descheduled after reading the clock',
  async (call) => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1000, burst: 10, clock });
    const crew = await Crew.of('clocked', 'stall', 1);
    let admitted = bucket.consumeOrDrain(100);
    const hasRead = new Gate();
    const mayGoOn = new Gate();
    const stalled = crew.run({
      handle: bucket.handle,
      call,
      hasRead: hasRead.buffer,
      mayGoOn: mayGoOn.buffer,
    });

    hasRead.await(1); // at 0 ms
    clock.advance(10);
    admitted += bucket.consumeOrDrain(100);
    expect(admitted).toBe(20);
    mayGoOn.arrive();
    for (const got of await stalled) admitted += got;
    expect(admitted).toBe(20);
    expect(bucket.balance()).toBe(0);

    clock.advance(1.5);
    admitted += bucket.consumeOrDrain(100);
    expect(admitted, 'burst + rate x t').toBe(21);
    expect(bucket.balance()).toBe(0.5);
  },
);

test('mints no token: calls whose clock moves back and forth (golang/go#56287)', () => {
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate: 1000, burst: 10, clock });
  let admitted = bucket.consumeOrDrain(100);
  for (let round = 0; round < 1000; round++) {
    clock.set(5);
    admitted += bucket.consumeOrDrain(100);
    clock.set(2);
    admitted += bucket.consumeOrDrain(100);
    bucket.returnTokens(0);
    bucket.reconfigure({ burst: 10 });
  }
  expect(admitted, 'burst + rate x 5 ms').toBe(15);
});

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
