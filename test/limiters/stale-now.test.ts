import { expect, test } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { type Granted, mostBeyond } from '../oracle/bound.ts';
import { Crew } from '../support/crew.ts';
import { Gate } from '../support/gate.ts';
import { Random, SEED } from '../support/random.ts';
import type { StalledCall, StalledJob } from '../workers/stalled.ts';

// https://github.com/golang/go/issues/71360, https://github.com/golang/go/issues/65508 and
// https://github.com/tikv/pd/issues/10744: a caller reads the clock, waits for a lock and writes
// its stale time into the limiter, so the tokens since then flow in a second time.

const CALLS: readonly StalledCall[] = [
  'tryConsume',
  'consumeOrDrain',
  'decide',
  'returnTokens',
  'reserve and cancel',
  'reconfigure',
];

test.each(CALLS)(
  'mints no token: %s on a thread descheduled after reading the clock',
  async (call) => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1000, burst: 10, clock });
    const crew = await Crew.start<StalledJob, number>('stalled', 1);
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
