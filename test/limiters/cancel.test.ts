import { describe, expect, test } from 'vitest';
import { KeyedLimitSet, ManualClock, type Reservation, TokenBucket } from '../../src/index.ts';
import { BUCKET } from '../../src/memory/layout.ts';
import { claimRecords } from '../support/cell.ts';
import { PROMISING, type Promising } from '../support/promising.ts';

function reserved(bucket: Promising, n: number): Reservation {
  const reservation = bucket.reserve(n);
  if (reservation === undefined) throw new Error('refused, though there was no maximum wait');
  return reservation;
}

describe('cancelling', () => {
  test('twice returns the tokens once', () => {
    const bucket = TokenBucket.create({ rate: 10, burst: 20, clock: ManualClock.create() });
    const reservation = reserved(bucket, 5);
    expect(reservation.cancel()).toBe(true);
    bucket.tryConsume(5);
    expect(reservation.cancel()).toBe(false);
    expect(bucket.balance()).toBe(15);
  });
});

const LIMITS = [
  { rate: 10, burst: 5 },
  { rate: 20, burst: 50 },
] as const;
const OWN = Object.entries(PROMISING).filter(([name]) => !name.startsWith('shared'));
/** Every limiter that can promise: 10 tokens a second, none at the start. */
const EMPTIED = OWN.map(([name, { make, counts }]) => {
  const emptied = (clock: ManualClock) => {
    const { limiter } = make(counts.length === 1 ? [LIMITS[0]] : LIMITS, clock, 'wasm');
    limiter.consumeOrDrain(5);
    return limiter;
  };
  return [name, emptied] as const;
});

describe.each(EMPTIED)('a reservation of a %s', (_, make) => {
  test('is cancelled up to its instant, and not after it', () => {
    const clock = ManualClock.create();
    const bucket = make(clock);
    const [punctual, late] = [reserved(bucket, 1), reserved(bucket, 1)];
    expect([punctual.waitMs, late.waitMs]).toEqual([100, 200]);
    clock.advance(200);
    expect(late.cancel()).toBe(true);
    const again = reserved(bucket, 1);
    expect(again.dueUs).toBe(clock.now());
    clock.advance(1 / 1000);
    const before = bucket.balance();
    expect(again.cancel()).toBe(false);
    expect(bucket.balance()).toBe(before);
  });

  test('that was available at once is not cancelled at a later instant', () => {
    const clock = ManualClock.create();
    const bucket = make(clock);
    clock.advance(1000);
    const before = bucket.balance();
    expect(reserved(bucket, 2).cancel()).toBe(true);
    expect(bucket.balance()).toBe(before);
    const kept = reserved(bucket, 2);
    clock.advance(1 / 1000);
    expect(kept.cancel()).toBe(false);
    expect(bucket.balance()).toBeCloseTo(before - 2, 3);
    bucket.returnTokens(2);
    expect(bucket.balance()).toBeCloseTo(before, 3);
  });

  test('gives nothing back to code that acts and cancels at the end', async () => {
    const clock = ManualClock.create();
    const bucket = make(clock);
    let acts = 0;
    for (let ms = 0; ms < 1000; ms += 125) {
      const slot = bucket.reserve(1, { maxWaitMs: 100 });
      try {
        if (slot === undefined) continue;
        clock.set(Math.max(clock.nowMs, slot.dueUs / 1000) + 1);
        acts++;
      } finally {
        slot?.cancel();
      }
    }
    // One each 100 ms.
    expect(acts).toBeLessThanOrEqual(clock.nowMs / 100);
  });
});

describe('tokens that nobody uses', () => {
  test.each(EMPTIED)('return when a wait on a %s is aborted after its instant', async (_, make) => {
    const clock = ManualClock.create();
    const bucket = make(clock);
    const controller = new AbortController();
    const wait = bucket.wait(1, { signal: controller.signal });
    // The instant passes, and the thread hears of the abort first.
    controller.signal.addEventListener('abort', () => clock.set(300), { once: true });
    controller.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
    expect(bucket.balance()).toBe(3);
  });
});

const BURST = 5;
const RATE = 10;

/** Whether a reservation can be cancelled after a return: while others wait, and if nobody does. */
const CANCELS: readonly (readonly [string, boolean, boolean])[] = [
  ['TokenBucket', true, false],
  ['LeakyBucket', true, false],
  ['LimitSet', true, true],
  ['key of a KeyedLimitSet', true, true],
  ['key of a KeyedTokenBucket', false, false],
];

// docs/guide.md: "All features of a bucket work: waits in order"
test.each(CANCELS)('a reservation of a %s after tokens were returned', (name, inDebt, atOnce) => {
  const cancelled = [0, 5].map((left) => {
    const clock = ManualClock.create();
    clock.advance(1000);
    const made = PROMISING[name]?.make([{ rate: RATE, burst: BURST }], clock, 'wasm');
    if (made === undefined) throw new Error(name);
    const { limiter } = made;
    clock.advance(1000);
    limiter.consumeOrDrain(BURST - left);
    const reservation = limiter.reserve(3, { maxWaitMs: 1000 });
    limiter.returnTokens(1);
    return reservation?.cancel();
  });
  expect(cancelled).toEqual([inDebt, atOnce]);
});

describe.each(['wasm', 'atomics'] as const)('returned tokens, with kernel %s,', (kernel) => {
  // docs/guide.md: "Waiting callers move up, in order."
  test('wake the next in line at once, on all threads', async () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1, burst: 1, clock, kernel });
    const other = TokenBucket.attach(structuredClone(bucket.handle));
    bucket.tryConsume();
    const order: string[] = [];
    const waits = [
      other.wait().then(() => order.push('first')),
      bucket.wait().then(() => order.push('second')),
    ];
    bucket.returnTokens(1);
    await waits[0];
    expect(order).toEqual(['first']);
    expect(bucket.acquire(1)).toBe(2000);
    clock.advance(1000);
    await Promise.all(waits);
  });

  test('wake the next caller of a key under several limits, on all threads', async () => {
    const clock = ManualClock.create();
    const limits = [{ rate: 1, burst: 1 }];
    const table = KeyedLimitSet.create({ limits, capacity: 10, clock, kernel });
    const other = KeyedLimitSet.attach(structuredClone(table.handle));
    table.tryConsume('ann');
    const wait = other.wait('ann');
    table.returnTokens('ann', 1);
    expect(await wait).toEqual({ waitedMs: 0 });
  });

  test('go to later callers if terminated threads hold every record', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1, burst: 5, clock, kernel });
    const { memory, offset } = bucket.handle;
    const buffer = 'buffer' in memory ? memory.buffer : memory;
    claimRecords(buffer, offset + BUCKET.claims, 255);
    bucket.charge(7);
    const waiting = bucket.reserve(1);
    bucket.returnTokens(2);
    expect([waiting?.dueUs, bucket.balance()]).toEqual([3_000_000, -1]);
    bucket.returnTokens(3);
    expect(bucket.balance()).toBe(2);
  });

  test('leave the stock of a lease where it is', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1, burst: 20, clock, kernel });
    const lease = bucket.lease({ size: 10 });
    lease.tryConsume();
    bucket.charge(30);
    bucket.returnTokens(1);
    expect(lease.tryConsume()).toBe(true);
    expect(lease.stock).toBe(8);
    bucket.reconfigure({ rate: 2 });
    expect(lease.tryConsume()).toBe(false);
    expect(lease.stock).toBe(0);
  });
});
