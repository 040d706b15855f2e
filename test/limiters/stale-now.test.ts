import { expect, test } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { Crew } from '../support/crew.ts';
import { Gate } from '../support/gate.ts';
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
