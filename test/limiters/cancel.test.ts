import { describe, expect, test } from 'vitest';
import { ManualClock, type Reservation, TokenBucket } from '../../src/index.ts';
import { PROMISING, type Promising } from '../support/promising.ts';

function reserved(bucket: Promising, n: number): Reservation {
  const reservation = bucket.reserve(n);
  if (reservation === undefined) throw new Error('refused, though there was no maximum wait');
  return reservation;
}

describe('cancelling', () => {
  test('the latest reservation returns exactly what it took', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 10, burst: 20, clock });
    const reservation = reserved(bucket, 15);
    expect(bucket.balance()).toBe(5);
    expect(reservation.cancel()).toBe(true);
    expect(bucket.balance()).toBe(20);
  });

  test('all reservations, latest first, returns everything', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 10, burst: 20, clock });
    const stack = [7, 20, 1, 13].map((n) => reserved(bucket, n));
    expect(bucket.balance()).toBe(-21);
    for (const reservation of stack.reverse()) expect(reservation.cancel()).toBe(true);
    expect(bucket.balance()).toBe(20);
  });

  test('a reservation that later ones depend on returns nothing, and moves none of them', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 10, burst: 20, initial: 0, clock });
    const first = reserved(bucket, 5);
    const second = reserved(bucket, 5);
    expect(first.cancel()).toBe(false);
    expect(second.waitMs).toBe(1000);
    expect(bucket.balance()).toBe(-10);
  });

  test('twice returns the tokens once', () => {
    const bucket = TokenBucket.create({ rate: 10, burst: 20, clock: ManualClock.create() });
    const reservation = reserved(bucket, 5);
    expect(reservation.cancel()).toBe(true);
    bucket.tryConsume(5);
    expect(reservation.cancel()).toBe(false);
    expect(bucket.balance()).toBe(15);
  });

  test('a reservation made under another limit returns nothing', () => {
    const bucket = TokenBucket.create({ rate: 10, burst: 20, clock: ManualClock.create() });
    const reservation = reserved(bucket, 5);
    bucket.reconfigure({ rate: 20 });
    expect(reservation.cancel()).toBe(false);
    expect(bucket.balance()).toBe(15);
  });

  // x/time/rate restores tokens by an estimate of what later reservations used, and gets it wrong:
  // https://github.com/golang/go/issues/56924, https://github.com/golang/go/issues/69419
  test('restores neither too little nor too much', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 10, burst: 20, clock });
    reserved(bucket, 15);
    clock.advance(100);
    const middle = reserved(bucket, 10);
    expect(middle.waitMs).toBe(400);
    clock.advance(100);
    const last = reserved(bucket, 2);
    expect(last.waitMs).toBe(500);
    expect(middle.cancel(), 'the last one stands on it').toBe(false);
    expect(bucket.balance()).toBe(-5);
    expect(last.cancel()).toBe(true);
    expect(bucket.balance()).toBe(-3);
    clock.advance(300);
    expect(bucket.balance()).toBe(0);
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
