import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import { KeyBuckets } from '../support/key-buckets.ts';
import { part } from '../support/random.ts';

const TOKEN_US = 250;
const BURST = 4;
/** More keys than the table's capacity, so that entries are constantly reclaimed. */
const KEYS = ['', '1', 1, 1n, '__proto__', 'a', 'b', 'c', -1, 2n ** 70n, '\ud800', '\ud801'];
const CAPACITY = 7;

const act = fc.record({
  act: fc.constantFrom(
    'tryConsume',
    'tryConsume',
    'acquire',
    'consumeOrDrain',
    'reserve',
    'returnTokens',
    'balance',
    'decide',
  ),
  key: fc.constantFrom(...KEYS),
  n: fc.integer({ min: 0, max: 5 }),
  waitUs: fc.constantFrom(0, 250, 600, Number.POSITIVE_INFINITY),
  cancels: fc.boolean(),
  moveUs: fc.oneof(fc.constantFrom(0, 0, 250, 1000, 5000), fc.integer({ min: 0, max: 700 })),
});
const script = fc.array(act, { maxLength: 60, size: 'max' });

function table(clock: ManualClock): KeyedTokenBucket {
  const rate = 1e6 / TOKEN_US;
  return KeyedTokenBucket.create({ rate, burst: BURST, capacity: CAPACITY, clock });
}

test('every call answers like a map of exact buckets', () => {
  const property = fc.property(script, (acts) => {
    const clock = ManualClock.create();
    const made = table(clock);
    const exact = new KeyBuckets(TOKEN_US, BURST);
    for (const { act, key, n, waitUs, cancels, moveUs } of acts) {
      clock.advance(moveUs / 1000);
      const nowUs = clock.now();
      if (act === 'tryConsume') {
        expect(made.tryConsume(key, n)).toBe(exact.acquire(key, nowUs, n, 0) !== undefined);
      } else if (act === 'acquire' && n > BURST) {
        expect(() => made.acquire(key, n, waitUs / 1000)).toThrow(/^n must be at most /);
      } else if (act === 'acquire') {
        const waited = exact.acquire(key, nowUs, n, waitUs);
        expect(made.acquire(key, n, waitUs / 1000)).toBeCloseTo(
          waited === undefined ? -1 : waited / 1000,
        );
      } else if (act === 'consumeOrDrain') {
        expect(made.consumeOrDrain(key, n)).toBe(exact.drain(key, nowUs, n));
      } else if (act === 'reserve' && n <= BURST) {
        const reservation = made.reserve(key, n, { maxWaitMs: waitUs / 1000 });
        const waited = exact.acquire(key, nowUs, n, waitUs);
        expect(reservation === undefined).toBe(waited === undefined);
        if (cancels && reservation !== undefined) {
          expect(reservation.cancel()).toBe(true);
          exact.returnTokens(key, nowUs, n);
        }
      } else if (act === 'returnTokens') {
        made.returnTokens(key, n);
        exact.returnTokens(key, nowUs, n);
      } else if (act === 'decide') {
        const before = exact.balance(key, nowUs);
        const allowed = exact.acquire(key, nowUs, n, 0) !== undefined;
        const { retryAfterMs, resetMs, nextTokenMs, ...decision } = made.decide(key, n);
        const balance = exact.balance(key, nowUs);
        const remaining = Math.max(0, Math.floor(balance));
        expect(decision).toEqual({ allowed, limit: BURST, remaining });
        const later = n > BURST ? Number.POSITIVE_INFINITY : ((n - before) * TOKEN_US) / 1000;
        expect(retryAfterMs).toBeCloseTo(allowed ? 0 : later);
        expect(resetMs).toBeCloseTo(((BURST - balance) * TOKEN_US) / 1000);
        const nextMs = ((remaining + 1 - balance) * TOKEN_US) / 1000;
        expect(nextTokenMs).toBeCloseTo(remaining < BURST ? nextMs : Number.POSITIVE_INFINITY);
      }
      expect(made.balance(key)).toBeCloseTo(exact.balance(key, nowUs));
      expect(made.timeUntil(key, 2)).toBeCloseTo(
        (Math.max(0, 2 - exact.balance(key, nowUs)) * TOKEN_US) / 1000,
      );
    }
  });
  fc.assert(property, { numRuns: part(1000, 200) });
});

test('a clock that steps back never admits more than a map of exact buckets', () => {
  const property = fc.property(
    script,
    fc.array(fc.integer({ min: 0, max: 3000 })),
    (acts, backs) => {
      const clock = ManualClock.create();
      const made = table(clock);
      const exact = new KeyBuckets(TOKEN_US, BURST);
      for (const [i, { key, n, waitUs, moveUs }] of acts.entries()) {
        clock.set(clock.nowMs + (moveUs - (backs[i % 7] ?? 0)) / 1000);
        if (n > BURST || made.acquire(key, n, waitUs / 1000) < 0) continue;
        expect(exact.acquire(key, Math.round(clock.now()), n, waitUs)).toBeDefined();
      }
    },
  );
  fc.assert(property, { numRuns: part(1000, 200) });
});
