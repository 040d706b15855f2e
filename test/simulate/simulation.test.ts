import { describe, expect, it } from 'vitest';
import { randomNumbers } from '../../src/load/plan/random.ts';
import { parseLimiter } from '../../src/simulate/limiter-specs.ts';
import { parsePattern } from '../../src/simulate/patterns.ts';
import { simulate } from '../../src/simulate/run.ts';
import { SEED } from '../support/random.ts';

const ALL = [
  'token-bucket rate=100 burst=20',
  'token-bucket quantum=20 fillIntervalMs=200 burst=30',
  'leaky-bucket rate=100 slack=2',
  'fixed-window limit=100 intervalMs=1000',
  'sliding-window limit=100 intervalMs=1000',
  'sliding-window limit=100 intervalMs=1000 slots=1',
  'sliding-log limit=100 intervalMs=1000',
  'token-bucket rate=150 burst=20 + sliding-log limit=300 intervalMs=3000',
];

async function play(
  pattern: string,
  seconds: number,
  limiters: readonly string[],
  { waitMs = 0, seed = 1 } = {},
) {
  const arrivals = parsePattern(pattern).arrivals(seconds * 1e6, randomNumbers(seed));
  return simulate(arrivals, limiters.map(parseLimiter), { waitMs });
}

/** The counts of one limiter. */
async function outcomesOf(pattern: string, seconds: number, limiter: string, waitMs = 0) {
  const { count, limiters } = await play(pattern, seconds, [limiter], { waitMs });
  const { outcomes } = limiters[0] ?? {};
  if (outcomes === undefined) throw new Error('there is one');
  const { admittedAtOnce, admittedLater, refusedAtOnce, gaveUp, waits } = outcomes;
  return { count, admittedAtOnce, admittedLater, refusedAtOnce, gaveUp, waits, outcomes };
}

function fromList(ms: readonly number[]): Float64Array[] {
  return [Float64Array.from(ms, (at) => at * 1_000)];
}

/** Limiters, and the time from one turn of waiting callers to the next. */
const BUCKET = { limiter: 'leaky-bucket rate=100', everyMs: 10 };
const WINDOW = { limiter: 'sliding-log limit=2 intervalMs=100', everyMs: 100 };

describe('simulated', () => {
  it.each([
    // 2,000 in 10 s arrive at 200/s; a burst of 1 admits every second one.
    ['token-bucket rate=100 burst=1', 1_000],
    ['leaky-bucket rate=100', 1_000],
    // The burst comes on top: the excess of 100/s uses it up.
    ['token-bucket rate=100 burst=20', 1_019],
    ['token-bucket quantum=10 fillIntervalMs=100 burst=10', 1_000],
    ['fixed-window limit=100 intervalMs=1000', 1_000],
    ['sliding-window limit=100 intervalMs=1000', 1_000],
    ['sliding-log limit=100 intervalMs=1000', 1_000],
    ['token-bucket rate=100 burst=1 + sliding-log limit=50 intervalMs=1000', 500],
  ])('%s admits what it says of twice the rate', async (limiter, admitted) => {
    expect(await outcomesOf('constant rate=200', 10, limiter)).toMatchObject({
      count: 2_000,
      admittedAtOnce: admitted,
      admittedLater: 0,
      refusedAtOnce: 2_000 - admitted,
      gaveUp: 0,
    });
  });

  it.each([
    ['are served in order, or refused at once if it would take too long', BUCKET, 50, [1, 5, 4, 0]],
    // A window of 2: two at 0, two at 100, two at 200; the others would have to wait until 300.
    ['retry when the window opens, and give up when that is too late', WINDOW, 250, [2, 4, 0, 4]],
    ['are refused at once if all would wait longer than their maximum', WINDOW, 99, [2, 0, 8, 0]],
  ])('callers that wait %s: %s, %d ms', async (_, { limiter, everyMs }, waitMs, counts) => {
    const wait = await outcomesOf('bursts size=10 everyMs=1000', 1, limiter, waitMs);
    const { admittedAtOnce, admittedLater, refusedAtOnce, gaveUp, outcomes } = wait;
    expect([admittedAtOnce, admittedLater, refusedAtOnce, gaveUp]).toEqual(counts);
    const { slotUs, counts: starts } = outcomes.admissions;
    const instants = starts.flatMap((count, slot) => (count > 0 ? [(slot * slotUs) / 1000] : []));
    expect(instants).toEqual(instants.map((_, turn) => turn * everyMs));
    expect(wait.waits.maxValue).toBeCloseTo(1000 * (instants.at(-1) ?? 0), -2);
  });

  it('waiting callers go before callers that arrive at the same instant', async () => {
    const { limiters } = await simulate(
      fromList([0, 40, 100]),
      [parseLimiter('sliding-log limit=1 intervalMs=100')],
      { waitMs: 60 },
    );
    expect(limiters[0]?.outcomes).toMatchObject({
      admittedAtOnce: 1,
      admittedLater: 1,
      refusedAtOnce: 1,
    });
  });

  it.each([
    ['try', 0],
    ['wait', 400],
  ])(`no bound is exceeded, and none is lost (%s, seed ${SEED})`, async (_, waitMs) => {
    const pattern = 'poisson rate=60 + bursts size=120 everyMs=3000 overMs=40';
    const { count, limiters } = await play(pattern, 120, ALL, { waitMs, seed: SEED });
    expect(limiters.length).toBe(ALL.length);
    for (const { text, outcomes } of limiters) {
      const { admittedAtOnce, admittedLater, refusedAtOnce, gaveUp, bounds } = outcomes;
      expect(admittedAtOnce + admittedLater + refusedAtOnce + gaveUp, text).toBe(count);
      for (const bound of bounds) {
        expect({ text, held: bound.held, near: bound.peak > bound.allowed / 4 }).toEqual({
          text,
          held: true,
          near: true,
        });
      }
      expect(outcomes.admissions.counts.reduce((sum, n) => sum + n, 0)).toBe(
        admittedAtOnce + admittedLater,
      );
      expect(outcomes.waits.maxValue).toBeLessThanOrEqual(waitMs * 1_001);
    }
  });

  it('limiters side by side have the same results as each one alone', async () => {
    const pattern = 'poisson rate=150';
    const together = await play(pattern, 20, ALL, { waitMs: 100 });
    for (const [at, limiter] of ALL.entries()) {
      const alone = await play(pattern, 20, [limiter], { waitMs: 100 });
      const numbers = (one: typeof alone, index: number) => {
        const { admittedAtOnce, admittedLater, refusedAtOnce, gaveUp } =
          one.limiters[index]?.outcomes ?? {};
        return { admittedAtOnce, admittedLater, refusedAtOnce, gaveUp };
      };
      expect(numbers(together, at), limiter).toEqual(numbers(alone, 0));
    }
  });
});
