import { describe, expect, test } from 'vitest';
import { ManualClock, Region } from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import { part } from '../support/random.ts';

const MOST_PROBES = 64;
const FLOOD = part(1_000_000, 600_000);
/** Ten million take minutes. */
const FLOOD_MS = 1_200_000;

function bytesOf(made: KeyedTokenBucket): number {
  const { memory } = made.handle;
  return ('buffer' in memory ? memory.buffer : memory).byteLength;
}

const CAPACITY = part(1_000_000, 100_000);

// docs/keys.md: "The table never grows"
test(`a table of ${CAPACITY} holds as many keys, in 32 bytes each`, () => {
  const clock = ManualClock.create();
  const capacity = CAPACITY;
  const made = KeyedTokenBucket.create({ rate: 1, burst: 1, capacity, clock });
  const admitted = () => {
    let count = 0;
    for (let i = 0; i < capacity; i++) if (made.tryConsume(`user-${i}`)) count++;
    return count;
  };
  expect(admitted()).toBe(capacity);
  expect(admitted()).toBe(0);
  expect(made.stats()).toEqual({ entries: capacity, reclaimed: 0, shared: 0, waiting: 0 });
  expect(bytesOf(made)).toBeLessThan(capacity * 32 + 2 * 65_536);
});

test(
  'a flood of one-time keys costs no memory, and leaves live keys their exact limit',
  () => {
    const clock = ManualClock.create();
    const rate = 10;
    const burst = 5;
    const capacity = 100_000;
    const made = KeyedTokenBucket.create({ rate, burst, capacity, clock, stats: true });
    const live = Array.from({ length: 200 }, (_, i) => `live-${i}`);
    // Use up the whole burst, so that no bucket is ever full again.
    const admitted = live.map((key) => made.consumeOrDrain(key, burst));
    const bytes = bytesOf(made);
    // A flood key's bucket is full again after 100 ms: 250,000 keys compete for 200,000 entries.
    const keysPerMs = 2500;
    for (let i = 0; i < FLOOD; i++) {
      made.tryConsume(i);
      if (i % keysPerMs !== 0) continue;
      clock.advance(1);
      if (clock.nowMs % 100 !== 0) continue;
      for (const [k, key] of live.entries()) {
        admitted[k] = (admitted[k] ?? 0) + made.consumeOrDrain(key, 9);
      }
    }
    const inflow = Math.floor((rate * Math.floor(clock.nowMs / 100) * 100) / 1000);
    expect(new Set(admitted)).toEqual(new Set([burst + inflow]));
    const { entries, reclaimed, shared, longestProbe } = made.stats();
    expect(entries).toBeGreaterThan(1.8 * capacity);
    expect(reclaimed).toBeGreaterThan(FLOOD / 3);
    expect(shared).toBeGreaterThan(0);
    expect(longestProbe).toBe(MOST_PROBES);
    expect(bytesOf(made)).toBe(bytes);
  },
  FLOOD_MS,
);

describe('keys that find no place', () => {
  function full(whenFull: 'share' | 'refuse' | 'admit'): {
    made: KeyedTokenBucket;
    clock: ManualClock;
  } {
    const clock = ManualClock.create();
    const made = KeyedTokenBucket.create({ rate: 1, burst: 2, capacity: 1, whenFull, clock });
    for (const key of ['held 1', 'held 2']) made.acquire(key, 2);
    return { made, clock };
  }

  test('share one bucket', () => {
    const { made, clock } = full('share');
    expect(made.available('x')).toBe(2);
    expect([made.tryConsume('x'), made.tryConsume('y'), made.tryConsume('z')]).toEqual([
      true,
      true,
      false,
    ]);
    expect(made.decide('z')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 1000 });
    expect(made.stats()).toMatchObject({ entries: 2, shared: 4 });
    const reservation = made.reserve('w', 1);
    expect(reservation?.waitMs).toBe(1000);
    expect(made.balance('x')).toBe(-1);
    expect(reservation?.cancel()).toBe(true);
    expect(made.balance('x')).toBe(0);
    made.returnTokens('x', 1);
    expect(made.balance('x')).toBe(0);
    clock.advance(2000);
    expect(made.consumeOrDrain('x', 9)).toBe(2);
    expect(made.stats()).toMatchObject({ reclaimed: 1 });
  });

  test('have a full window, until one of its buckets is full again', () => {
    const { made, clock } = full('refuse');
    expect([made.balance('x'), made.timeUntil('x', 1)]).toEqual([0, 1000]);
    clock.advance(1999);
    expect(made.balance('x')).toBe(0);
    made.returnTokens('held 2', 0.001);
    expect([made.balance('x'), made.stats().entries]).toEqual([2, 1]);
    expect(made.consumeOrDrain('x', 0.5)).toBe(0);
    expect(made.tryConsume('x', 2)).toBe(true);
    expect(made.stats()).toMatchObject({ entries: 2, reclaimed: 1 });
  });

  test('are refused', async () => {
    const { made } = full('refuse');
    expect(made.tryConsume('x')).toBe(false);
    expect(made.available('x')).toBe(0);
    expect(made.consumeOrDrain('x', 1)).toBe(0);
    expect(made.reserve('x', 1)).toBeUndefined();
    await expect(made.wait('x')).rejects.toMatchObject({ code: 'ERR_RATE_LIMIT_TIMEOUT' });
  });

  test('are admitted', () => {
    const { made } = full('admit');
    for (let i = 0; i < 5; i++) expect(made.tryConsume('x')).toBe(true);
    expect(made.available('x')).toBe(2);
    expect(made.reserve('x', 1)?.cancel()).toBe(false);
    expect(() => made.reserve('x', 3)).toThrow(
      expect.objectContaining({ code: 'ERR_EXCEEDS_BURST' }),
    );
  });
});

test('a table is allocated in the given region, if there is room', () => {
  const region = Region.create({ bytes: 65_536 });
  const options = { rate: 1, burst: 1, region } as const;
  const made = KeyedTokenBucket.create({ ...options, capacity: 1000 });
  expect(region.bytesFree).toBe(65_536 - 64 - 1280 - 32_000);
  expect(made.tryConsume('a')).toBe(true);
  expect(() => KeyedTokenBucket.create({ ...options, capacity: 2000 })).toThrow(
    expect.objectContaining({ code: 'ERR_REGION_FULL' }),
  );
});
