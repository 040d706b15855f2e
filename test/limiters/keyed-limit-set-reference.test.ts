import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type KernelName,
  KeyedLimitSet,
  ManualClock,
  REFUSED,
  type Reservation,
} from '../../src/index.ts';
import type { TierLimit } from '../support/key-tiers.ts';
import type { Promised } from '../support/limit-set-reference.ts';
import { LimitSetReferences } from '../support/limit-set-references.ts';
import { SHARE } from '../support/random.ts';
import type { Rational } from '../support/rational.ts';

/** Rates with small common multiples; each can be the one that is waited for. */
const LIMITS: readonly TierLimit[] = [
  { tokenUs: 256, burst: 4 },
  { tokenUs: 64, burst: 12 },
  { tokenUs: 1024, burst: 20 },
];
const KEYS = ['a', 'b', 1, 2n, ''];
type Key = (typeof KEYS)[number];

interface Held {
  readonly key: Key;
  readonly reservation: Reservation;
  readonly promised: Promised;
}

function inMs(us: Rational | undefined): number {
  return (us?.toNumber() ?? Number.POSITIVE_INFINITY) / 1000;
}

function most(each: readonly (Rational | undefined)[]): number {
  return Math.max(...each.map(inMs));
}

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

function table(clock: ManualClock, kernel: KernelName, capacity: number): KeyedLimitSet {
  const limits = limitsOf(LIMITS);
  return KeyedLimitSet.create({ limits, capacity, clock, kernel, whenFull: 'refuse' });
}

describe.each(['wasm', 'atomics'] as const)('a table with several limits (%s)', (kernel) => {
  test('answers every call like a map of exact buckets, whatever its limits are changed to', () => {
    const property = fc.property(script, (acts) => {
      const clock = ManualClock.create();
      const made = table(clock, kernel, 20);
      const nowUs = () => Math.round(clock.now());
      const all = new LimitSetReferences<Key>(limitsOf(LIMITS), nowUs);
      let held: Held[] = [];
      let limits = LIMITS;
      for (const { act, key, n, waitUs, change, moveUs } of acts) {
        clock.advance(moveUs / 1000);
        const exact = all.of(key);
        const { burst } = exact;
        // A key without a bucket has none to fill.
        if (['reset', 'returnTokens'].includes(act) && exact.acquire(1) !== undefined) {
          expect(made.tryConsume(key)).toBe(true);
        }
        if (act === 'tryConsume') {
          expect(made.tryConsume(key, n)).toBe(exact.acquire(n) !== undefined);
        } else if (act === 'acquire' && n <= burst) {
          const expected = inMs(exact.waitToTakeUs(n));
          const isTaken = exact.acquire(n, waitUs) !== undefined;
          expect(made.acquire(key, n, waitUs / 1000)).toBeCloseTo(isTaken ? expected : REFUSED);
        } else if (act === 'consumeOrDrain') {
          expect(made.consumeOrDrain(key, n)).toBe(exact.drain(n));
        } else if (act === 'reserve' && n <= burst) {
          const expected = inMs(exact.waitToTakeUs(n));
          const reservation = made.reserve(key, n, { maxWaitMs: waitUs / 1000 });
          const promised = exact.acquire(n, waitUs);
          expect(reservation?.waitMs ?? -1).toBeCloseTo(promised === undefined ? -1 : expected);
          if (reservation && promised) held.push({ key, reservation, promised });
        } else if (act === 'cancel') {
          const last = held.pop();
          // A bucket that is full may have been forgotten, and its reservations with it.
          if (last && all.isFull(last.key)) held = held.filter((one) => one.key !== last.key);
          else if (last)
            expect(last.reservation.putBack()).toBe(all.of(last.key).cancel(last.promised));
        } else if (act === 'returnTokens') {
          made.returnTokens(key, n);
          exact.putBack(n);
        } else if (act === 'decide') {
          const retryMs = inMs(exact.waitToTakeUs(n));
          const untilUs = exact.waitsUs(n);
          const allowed = exact.acquire(n) !== undefined;
          const decision = made.decide(key, n);
          const fullsUs = exact.fullsUs();
          expect(decision.allowed).toBe(allowed);
          expect(decision.limit).toBe(burst);
          expect(decision.resetMs).toBeCloseTo(most(fullsUs));
          expect(decision.retryAfterMs).toBeCloseTo(allowed ? 0 : retryMs);
          expect(decision.limits).toHaveLength(limits.length);
          const balances = exact.balances();
          for (const [i, limit] of (decision.limits ?? []).entries()) {
            const remaining = Math.floor(balances[i]?.toNumber() ?? Number.NaN);
            expect(limit.limit).toBe(limits[i]?.burst);
            expect(limit.remaining).toBe(Math.max(0, remaining));
            expect(limit.resetMs).toBeCloseTo(inMs(fullsUs[i]));
            if (allowed) expect(limit.retryAfterMs).toBe(0);
            else if (!exact.isPromised) expect(limit.retryAfterMs).toBeCloseTo(inMs(untilUs[i]));
          }
        } else if (act === 'charge') {
          exact.take(n, true);
          expect(made.charge(key, n)).toBeCloseTo(n === 0 ? 0 : inMs(exact.debtUs()));
        } else if (act === 'block') {
          expect(made.block(key, n / 8)).toBe(true);
          exact.block(n * 125);
        } else if (act === 'reset') {
          made.reset(key);
          exact.reset();
        } else if (act === 'reconfigure') {
          limits = changed(change, limits);
          made.reconfigure({ limits: limitsOf(limits) });
          all.reconfigure(limitsOf(limits));
          expect(made.limits).toEqual(limitsOf(limits));
          for (const { reservation, promised } of held) {
            const dueUs = inMs(promised.dueUs) * 1000;
            if (promised.isPast) {
              // A table forgets when what was due before a change became due.
              expect(reservation.dueUs).toBeGreaterThanOrEqual(dueUs - 0.005);
              expect(reservation.dueUs).toBeLessThanOrEqual(clock.now());
            } else expect(reservation.dueUs).toBeCloseTo(dueUs);
          }
        }
        expect(made.balance(key)).toBeCloseTo(exact.balance().toNumber());
        expect(made.timeUntil(key, 2)).toBeCloseTo(inMs(exact.waitUs(2)));
      }
    });
    fc.assert(property, { numRuns: 1000 * SHARE });
  });

  test('admits nothing that a map of exact buckets would not, if it forgets keys and its clock steps back', () => {
    const backs = fc.array(fc.integer({ min: 0, max: 3000 }));
    const property = fc.property(script, backs, (acts, steps) => {
      const clock = ManualClock.create();
      const made = table(clock, kernel, 1);
      const all = new LimitSetReferences<Key>(limitsOf(LIMITS), () => Math.round(clock.now()));
      for (const [i, { key, n, moveUs }] of acts.entries()) {
        const backUs = steps[i] ?? 0;
        clock.set(Math.max(0, clock.nowMs + (moveUs - backUs) / 1000));
        if (n > 0 && n <= all.burst && made.tryConsume(key, n)) {
          expect(all.of(key).acquire(n)).toBeDefined();
        }
      }
    });
    fc.assert(property, { numRuns: 1000 * SHARE });
  });
});
