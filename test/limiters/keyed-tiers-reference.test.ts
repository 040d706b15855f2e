import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type KernelName, KeyedTokenBucket, ManualClock, REFUSED } from '../../src/index.ts';
import { KeyTiers, type TierLimit } from '../support/key-tiers.ts';
import { SHARE } from '../support/random.ts';

/** The table's own limit, and three tiers: rates with small common multiples. */
const LIMITS: readonly TierLimit[] = [
  { tokenUs: 256, burst: 4 },
  { tokenUs: 64, burst: 40 },
  { tokenUs: 1024, burst: 2 },
  { tokenUs: 4096, burst: 16 },
];
const NAMES = [undefined, 'pro', 'free', 'slow'] as const;
const KEYS = ['a', 'b', 1, 2n, ''];

const speeds = fc.constantFrom(0.5, 1, 2);
const change = fc.record({
  /** All rates change by one factor, or each by its own. */
  factors: fc.oneof(
    speeds.map((speed) => [speed, speed, speed, speed]),
    fc.tuple(speeds, speeds, speeds, speeds),
  ),
  bursts: fc.tuple(...LIMITS.map(({ burst }) => fc.constantFrom(burst, burst * 2, burst / 2))),
});
const act = fc.record({
  act: fc.constantFrom(
    ...['tryConsume', 'tryConsume', 'acquire', 'consumeOrDrain', 'reserve', 'returnTokens'],
    ...['decide', 'charge', 'block', 'reset', 'reconfigure'],
  ),
  key: fc.constantFrom(...KEYS),
  tier: fc.integer({ min: 0, max: 3 }),
  n: fc.integer({ min: 0, max: 50 }),
  waitUs: fc.constantFrom(0, 256, 600, Number.POSITIVE_INFINITY),
  change,
  moveUs: fc.oneof(
    fc.constantFrom(0, 0, 256, 1024, 8192, 131_072),
    fc.integer({ min: 0, max: 700 }),
  ),
});
const script = fc.array(act, { maxLength: 60, size: 'max' });

function rateOf({ tokenUs, burst }: TierLimit): { rate: number; burst: number } {
  return { rate: 1e6 / tokenUs, burst };
}

/** How far rates may drift from those at creation. */
const FURTHEST = 16;
/** A microsecond of the slowest tier is a whole number of ticks of the fastest one. */
const MOST_APART = 64;

/** The limits after a change. */
function changed(
  { factors, bursts }: { readonly factors: readonly number[]; readonly bursts: readonly number[] },
  inForce: readonly TierLimit[],
): readonly TierLimit[] {
  const next = inForce.map((before, i) => {
    const tokenUs = before.tokenUs * (factors[i] ?? 1);
    const drift = Math.abs(Math.log2(tokenUs / (LIMITS[i]?.tokenUs ?? 1)));
    return {
      tokenUs: drift <= Math.log2(FURTHEST) ? tokenUs : before.tokenUs,
      burst: bursts[i] ?? before.burst,
    };
  });
  const costs = next.map(({ tokenUs }) => tokenUs);
  return Math.max(...costs) <= MOST_APART * Math.min(...costs) ? next : inForce;
}

/** The options of a table, or a change, with all of these limits. */
function inAll(limits: readonly TierLimit[]) {
  const [own, pro, free, slow] = limits.map(rateOf) as [Rate, Rate, Rate, Rate];
  return { ...own, tiers: { pro, free, slow } };
}
type Rate = ReturnType<typeof rateOf>;

function table(clock: ManualClock, kernel: KernelName, capacity: number): KeyedTokenBucket {
  return KeyedTokenBucket.create({
    ...inAll(LIMITS),
    ...{ capacity, clock, kernel, whenFull: 'refuse' },
  });
}

describe.each(['wasm', 'atomics'] as const)('a table with tiers (%s)', (kernel) => {
  test('answers every call like a map of exact buckets, whatever its limits are changed to', () => {
    const property = fc.property(script, (acts) => {
      const clock = ManualClock.create();
      const made = table(clock, kernel, 20);
      const exact = new KeyTiers<unknown>(LIMITS);
      let limits = LIMITS;
      for (const { act, key, tier: at, n, waitUs, change, moveUs } of acts) {
        clock.advance(moveUs / 1000);
        const nowUs = clock.now();
        const tier = NAMES[at];
        const options = tier === undefined ? {} : { tier };
        const { burst } = limits[at] as TierLimit;
        if (act === 'tryConsume') {
          const isTaken = exact.acquire(key, nowUs, n, 0, at) !== undefined;
          expect(made.tryConsume(key, n, options)).toBe(isTaken);
        } else if (act === 'acquire' && n <= burst) {
          const waited = exact.acquire(key, nowUs, n, waitUs, at);
          const answer = made.acquire(key, n, waitUs / 1000, options);
          expect(answer).toBeCloseTo(waited === undefined ? REFUSED : waited / 1000);
        } else if (act === 'consumeOrDrain') {
          expect(made.consumeOrDrain(key, n, options)).toBe(exact.drain(key, nowUs, n, at));
        } else if (act === 'reserve' && n <= burst) {
          const reservation = made.reserve(key, n, { maxWaitMs: waitUs / 1000, ...options });
          const waited = exact.acquire(key, nowUs, n, waitUs, at);
          expect(reservation?.waitMs ?? -1).toBeCloseTo(waited === undefined ? -1 : waited / 1000);
        } else if (act === 'returnTokens') {
          made.returnTokens(key, n, options);
          exact.returnTokens(key, nowUs, n, at);
        } else if (act === 'decide') {
          const untilMs = exact.untilUs(key, nowUs, n, at) / 1000;
          const allowed = exact.acquire(key, nowUs, n, 0, at) !== undefined;
          const { retryAfterMs, resetMs, nextTokenMs, ...decision } = made.decide(key, n, options);
          const remaining = Math.max(0, Math.floor(exact.balance(key, nowUs, at)));
          expect(decision).toEqual({ allowed, limit: burst, remaining });
          expect(retryAfterMs).toBeCloseTo(allowed ? 0 : untilMs);
          expect(resetMs).toBeCloseTo(exact.untilUs(key, nowUs, burst, at) / 1000);
          const nextUs = exact.untilUs(key, nowUs, remaining + 1, at);
          expect(nextTokenMs).toBeCloseTo(nextUs / 1000);
        } else if (act === 'charge') {
          const waited = exact.charge(key, nowUs, n, at);
          expect(made.charge(key, n, options)).toBeCloseTo(waited / 1000);
        } else if (act === 'block') {
          expect(made.block(key, n / 8)).toBe(true);
          exact.block(key, nowUs, n * 125);
        } else if (act === 'reset') {
          made.reset(key);
          exact.reset(key);
        } else if (act === 'reconfigure') {
          limits = changed(change, limits);
          made.reconfigure(inAll(limits));
          exact.change(nowUs, limits);
        }
        expect(made.balance(key, options)).toBeCloseTo(exact.balance(key, nowUs, at));
        expect(made.timeUntil(key, 2, options)).toBeCloseTo(
          exact.untilUs(key, nowUs, 2, at) / 1000,
        );
      }
    });
    fc.assert(property, { numRuns: 1000 * SHARE });
  });

  test('admits nothing that a map of exact buckets would not, if it forgets keys and its clock steps back', () => {
    const backs = fc.array(fc.integer({ min: 0, max: 3000 }));
    let reclaimed = 0;
    const property = fc.property(script, backs, (acts, steps) => {
      const clock = ManualClock.create();
      const made = table(clock, kernel, 1);
      const exact = new KeyTiers<unknown>(LIMITS);
      let limits = LIMITS;
      let latestMs = 0;
      const named = new Map<unknown, number>();
      for (const [i, { act, key, tier: at, n, waitUs, change, moveUs }] of acts.entries()) {
        clock.set(Math.max(0, clock.nowMs + (moveUs - (steps[i % 7] ?? 0)) / 1000));
        latestMs = Math.max(latestMs, clock.nowMs);
        if (act === 'reconfigure') {
          // A key that was full when it was forgotten would not be full again before that.
          clock.set(latestMs);
          limits = changed(change, limits);
          made.reconfigure(inAll(limits));
          exact.change(Math.round(clock.now()), limits);
        }
        const tier = NAMES[at];
        const options = tier === undefined ? {} : { tier };
        const { burst } = limits[at] as TierLimit;
        const nowUs = Math.round(clock.now());
        const before = named.get(key) ?? at;
        // A table that forgot the key cannot know that the clock, set back, shows it in debt.
        if (before !== at && exact.balance(key, nowUs, before) < 0) continue;
        if (n > burst || made.acquire(key, n, waitUs / 1000, options) < 0) continue;
        expect(exact.acquire(key, nowUs, n, waitUs, at)).toBeDefined();
        if (n > 0) named.set(key, at);
      }
      reclaimed += made.stats().reclaimed;
    });
    fc.assert(property, { numRuns: 1000 * SHARE });
    expect(reclaimed).toBeGreaterThan(0);
  });
});
