import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type KernelName,
  KeyedTokenBucket,
  ManualClock,
  REFUSED,
  type Reservation,
} from '../../src/index.ts';
import { KeySeveral, type Taken } from '../support/key-several.ts';
import type { TierLimit } from '../support/key-tiers.ts';
import { SHARE } from '../support/random.ts';

/** Rates with small common multiples; each can be the one that is waited for. */
const LIMITS: readonly TierLimit[] = [
  { tokenUs: 256, burst: 4 },
  { tokenUs: 64, burst: 12 },
  { tokenUs: 1024, burst: 20 },
];
const KEYS = ['a', 'b', 1, 2n, ''];

const speeds = fc.constantFrom(0.5, 1, 2);
const change = fc.record({
  factors: fc.oneof(
    speeds.map((speed) => [speed, speed, speed]),
    fc.tuple(speeds, speeds, speeds),
  ),
  bursts: fc.tuple(...LIMITS.map(({ burst }) => fc.constantFrom(burst, burst * 2, burst / 2))),
});
const act = fc.record({
  act: fc.constantFrom(
    ...['tryConsume', 'tryConsume', 'acquire', 'consumeOrDrain', 'reserve', 'reserve', 'cancel'],
    ...['decide', 'charge', 'block', 'reset', 'reconfigure', 'returnTokens'],
  ),
  key: fc.constantFrom(...KEYS),
  n: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 25 })),
  waitUs: fc.constantFrom(0, 256, 600, 4096, Number.POSITIVE_INFINITY),
  change,
  moveUs: fc.oneof(
    fc.constantFrom(0, 0, 256, 1024, 8192, 131_072),
    fc.integer({ min: 0, max: 700 }),
  ),
});
const script = fc.array(act, { maxLength: 60, size: 'max' });

function limitsOf(limits: readonly TierLimit[]): { rate: number; burst: number }[] {
  return limits.map(({ tokenUs, burst }) => ({ rate: 1e6 / tokenUs, burst }));
}

/** How far rates may drift from those at creation. */
const FURTHEST = 4;

function changed(
  { factors, bursts }: { readonly factors: readonly number[]; readonly bursts: readonly number[] },
  inForce: readonly TierLimit[],
): readonly TierLimit[] {
  const drift = ({ tokenUs }: TierLimit, i: number) =>
    (tokenUs * (factors[i] ?? 1)) / (LIMITS[i]?.tokenUs ?? 1);
  const isNear = inForce.every(
    (one, i) => Math.abs(Math.log2(drift(one, i))) <= Math.log2(FURTHEST),
  );
  return inForce.map(({ tokenUs }, i) => ({
    tokenUs: tokenUs * (isNear ? (factors[i] ?? 1) : 1),
    burst: bursts[i] ?? 1,
  }));
}

function table(clock: ManualClock, kernel: KernelName, capacity: number): KeyedTokenBucket {
  const limits = limitsOf(LIMITS);
  return KeyedTokenBucket.create({ limits, capacity, clock, kernel, whenFull: 'refuse' });
}

describe.each(['wasm', 'atomics'] as const)('a table with several limits (%s)', (kernel) => {
  test('answers every call like a map of exact buckets, whatever its limits are changed to', () => {
    const property = fc.property(script, (acts) => {
      const clock = ManualClock.create();
      const made = table(clock, kernel, 20);
      const exact = new KeySeveral<unknown>(LIMITS);
      let held: { reservation: Reservation; taken: Taken<unknown> }[] = [];
      let limits = LIMITS;
      for (const { act, key, n, waitUs, change, moveUs } of acts) {
        clock.advance(moveUs / 1000);
        const nowUs = Math.round(clock.now());
        const { burst } = exact;
        if (act === 'tryConsume') {
          const isTaken = exact.acquire(key, nowUs, n, 0) !== undefined;
          expect(made.tryConsume(key, n)).toBe(isTaken);
        } else if (act === 'acquire' && n <= burst) {
          const taken = exact.acquire(key, nowUs, n, waitUs);
          const answer = made.acquire(key, n, waitUs / 1000);
          expect(answer).toBeCloseTo(taken === undefined ? REFUSED : taken.waitUs / 1000);
        } else if (act === 'consumeOrDrain') {
          expect(made.consumeOrDrain(key, n)).toBe(exact.drain(key, nowUs, n));
        } else if (act === 'reserve' && n <= burst) {
          const reservation = made.reserve(key, n, { maxWaitMs: waitUs / 1000 });
          const taken = exact.acquire(key, nowUs, n, waitUs);
          expect(reservation?.waitMs ?? -1).toBeCloseTo(
            taken === undefined ? -1 : taken.waitUs / 1000,
          );
          if (reservation && taken) held.push({ reservation, taken });
        } else if (act === 'cancel') {
          const last = held.pop();
          const isFull = last && Math.max(...exact.fullUs(last.taken.key, nowUs)) <= 0;
          // A bucket that is full may have been forgotten, and its reservations with it.
          if (isFull) held = held.filter(({ taken }) => taken.key !== last.taken.key);
          else if (last) expect(last.reservation.cancel()).toBe(exact.cancel(last.taken));
        } else if (act === 'returnTokens') {
          made.returnTokens(key, n);
          exact.returnTokens(key, nowUs, n);
        } else if (act === 'decide') {
          const untilUs = exact.untilUs(key, nowUs, n);
          const allowed = exact.acquire(key, nowUs, n, 0) !== undefined;
          const decision = made.decide(key, n);
          const fullUs = exact.fullUs(key, nowUs);
          expect(decision.allowed).toBe(allowed);
          expect(decision.limit).toBe(burst);
          expect(decision.resetMs).toBeCloseTo(Math.max(...fullUs) / 1000);
          expect(decision.retryAfterMs).toBeCloseTo(allowed ? 0 : Math.max(...untilUs) / 1000);
          expect(decision.limits).toHaveLength(limits.length);
          const balances = exact.balances(key, nowUs);
          for (const [i, limit] of (decision.limits ?? []).entries()) {
            expect(limit.limit).toBe(limits[i]?.burst);
            expect(limit.remaining).toBe(Math.max(0, Math.floor(balances[i] ?? Number.NaN)));
            expect(limit.resetMs).toBeCloseTo((fullUs[i] ?? Number.NaN) / 1000);
            expect(limit.retryAfterMs).toBeCloseTo(allowed ? 0 : (untilUs[i] ?? Number.NaN) / 1000);
          }
        } else if (act === 'charge') {
          const { waitUs } = exact.charge(key, nowUs, n);
          expect(made.charge(key, n)).toBeCloseTo(waitUs / 1000);
        } else if (act === 'block') {
          expect(made.block(key, n / 8)).toBe(true);
          exact.block(key, nowUs, n * 125);
        } else if (act === 'reset') {
          made.reset(key);
          exact.reset(key, nowUs);
        } else if (act === 'reconfigure') {
          // A bucket that is full may have been forgotten, and is full under any limit then.
          for (const key of KEYS.filter((one) => Math.max(...exact.fullUs(one, nowUs)) <= 0)) {
            expect(made.tryConsume(key)).toBe(true);
            exact.acquire(key, nowUs, 1, 0);
          }
          limits = changed(change, limits);
          made.reconfigure({ limits: limitsOf(limits) });
          exact.change(nowUs, limits);
          expect(made.limits).toEqual(limitsOf(limits));
          for (const { reservation, taken } of held) {
            expect(reservation.dueUs).toBeCloseTo(taken.dueUs);
          }
        }
        expect(made.balance(key)).toBeCloseTo(exact.balance(key, nowUs));
        expect(made.timeUntil(key, 2)).toBeCloseTo(
          Math.max(...exact.untilUs(key, nowUs, 2)) / 1000,
        );
      }
    });
    fc.assert(property, { numRuns: 1000 * SHARE });
  });

  test('admits nothing that a map of exact buckets would not, if it forgets keys and its clock steps back', () => {
    const backs = fc.array(fc.integer({ min: 0, max: 3000 }));
    const property = fc.property(script, backs, (acts, steps) => {
      const clock = ManualClock.create();
      const made = table(clock, kernel, 1);
      const exact = new KeySeveral<unknown>(LIMITS);
      for (const [i, { key, n, moveUs }] of acts.entries()) {
        const backUs = steps[i] ?? 0;
        clock.set(Math.max(0, clock.nowMs + (moveUs - backUs) / 1000));
        if (n > 0 && n <= exact.burst && made.tryConsume(key, n)) {
          expect(exact.acquire(key, Math.round(clock.now()), n, 0)).toBeDefined();
        }
      }
    });
    fc.assert(property, { numRuns: 1000 * SHARE });
  });
});
