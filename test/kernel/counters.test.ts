import { describe, expect, onTestFinished, test } from 'vitest';
import { attach, ManualClock, Region, TokenBucket } from '../../src/index.ts';
import { continuous } from '../../src/kernel/bucket/schedule.ts';
import { Counters } from '../../src/kernel/counters.ts';
import { createKeyedCell, tableLimits } from '../../src/kernel/keyed/cell.ts';
import { COUNTER } from '../../src/memory/layout.ts';
import { raiseDouble } from '../../src/memory/shared-double.ts';
import { hammered } from '../support/hammered.ts';
import { Preemption } from '../support/preemption.ts';

const OWN_STRIPES = 64;

function counted(burst = 10) {
  const clock = ManualClock.create();
  return { clock, bucket: TokenBucket.create({ rate: 1000, burst, clock, stats: true }) };
}

describe('stats', () => {
  test('count calls that request tokens, the tokens granted, and refusals', async () => {
    const { bucket } = counted();
    const counts = (calls: number, admitted: number, refused: number) => {
      expect(bucket.stats()).toEqual({ calls, admitted, refused, failedExchanges: 0, waiting: 0 });
    };
    counts(0, 0, 0);
    bucket.tryConsume(2.5);
    counts(1, 2.5, 0);
    bucket.tryConsume(9);
    counts(2, 2.5, 1);
    bucket.consumeOrDrain(3);
    counts(3, 5.5, 1);
    bucket.consumeOrDrain(100);
    counts(4, 9.5, 1);
    bucket.consumeOrDrain(100);
    counts(5, 9.5, 2);
    bucket.decide(1);
    counts(6, 9.5, 3);
    bucket.acquire(1, 0);
    counts(7, 9.5, 4);
    bucket.acquire(1);
    counts(8, 10.5, 4);
    bucket.reserve(1)?.cancel();
    counts(9, 11.5, 4);
    bucket.tryConsume(11);
    counts(10, 11.5, 5);
    bucket.tryConsume(0);
    counts(11, 11.5, 5);
    await bucket.wait(1, { timeoutMs: 0 }).catch(() => undefined);
    counts(12, 11.5, 6);
    bucket.charge(20);
    counts(13, 31.5, 6);
    bucket.charge(0);
    counts(14, 31.5, 6);
  });

  test('count nothing for a query, a return or a reconfiguration', () => {
    const { bucket } = counted();
    bucket.balance();
    bucket.available();
    bucket.timeUntil(5);
    bucket.returnTokens(1);
    bucket.reconfigure({ rate: 5 });
    bucket.stats();
    expect(bucket.stats()).toEqual({
      calls: 0,
      admitted: 0,
      refused: 0,
      failedExchanges: 0,
      waiting: 0,
    });
  });

  test('of two instances that share a stripe add up, wherever one is stalled', () => {
    const preemption = new Preemption();
    onTestFinished(() => preemption.restore());
    for (let at = 1; ; at++) {
      const before = preemption.stalls;
      const { bucket } = counted();
      for (let i = 1; i < OWN_STRIPES; i++) attach(bucket.handle);
      const [one, other] = [attach(bucket.handle), attach(bucket.handle)];
      preemption.call(
        () => one.tryConsume(1),
        at,
        () => other.tryConsume(2),
      );
      if (preemption.stalls === before) break;
      expect(bucket.stats()).toMatchObject({ calls: 2, admitted: 3, refused: 0 });
    }
    expect(preemption.stalls).toBeGreaterThan(5);
  });

  test('of the longest probe keep the maximum, wherever one instance is stalled', () => {
    const preemption = new Preemption();
    onTestFinished(() => preemption.restore());
    const place = createKeyedCell({
      kind: 'keyed-token-bucket',
      limits: tableLimits([continuous(1, 1)]),
      nowUs: 0,
      capacity: 1,
      whenFull: 'share',
      stats: true,
      region: Region.create(),
    });
    const open = () => Counters.open(place) as Counters;
    const raise = (counters: Counters, probes: number) =>
      raiseDouble(place.region.i64, counters.at(COUNTER.longestProbe), probes);
    const longest = () => Math.max(...first.all(COUNTER.longestProbe));
    const first = open();
    expect(longest()).toBe(0);
    for (const [probes, most] of [
      [5, 5],
      [3, 5],
      [5, 5],
    ] as const) {
      raise(first, probes);
      expect(longest()).toBe(most);
    }
    for (let i = 1; i < OWN_STRIPES; i++) open();
    const [one, other] = [open(), open()];
    // A load and an exchange.
    for (let at = 1, most = 6; at <= 2; at++, most += 2) {
      preemption.call(
        () => raise(one, most),
        at,
        () => raise(other, most + 1),
      );
      expect(longest()).toBe(most + 1);
    }
    expect(preemption.stalls).toBe(2);
  });

  test('of four threads that share a stripe add up exactly', async () => {
    const { bucket } = counted(50_000);
    for (let i = 0; i < OWN_STRIPES; i++) attach(bucket.handle);
    const board = await hammered(bucket, {}, (board, leg) => {
      if (leg > 0) bucket.returnTokens(50_000);
      board.walk();
    });
    const { calls, admitted, refused } = bucket.stats();
    expect({ calls, admitted }).toEqual({ calls: board.calls, admitted: board.admitted });
    expect(refused).toBe(calls - admitted);
  });
});
