import { describe, expect, it } from 'vitest';
import { randomNumbers } from '../../src/load/plan/random.ts';
import { parsePattern } from '../../src/simulate/patterns.ts';
import { SEED } from '../support/random.ts';

/** Copies each batch, because the next one reuses its memory. */
function arrivalsMs(text: string, lengthMs: number, seed: number): number[] {
  const instants: number[] = [];
  for (const batch of parsePattern(text).arrivals(lengthMs * 1_000, randomNumbers(seed))) {
    instants.push(...Array.from(batch, (us) => us / 1_000));
  }
  return instants;
}

describe('a pattern of arrivals', () => {
  it.each([
    ['constant rate=1000', 5, [0, 1, 2, 3, 4]],
    ['constant rate=120/minute', 1_001, [0, 500, 1_000]],
    ['bursts size=2 everyMs=10', 25, [0, 0, 10, 10, 20, 20]],
    ['bursts size=2 everyMs=10 overMs=4', 15, [0, 2, 10, 12]],
    ['constant rate=100 + bursts size=2 everyMs=15', 31, [0, 0, 0, 10, 15, 15, 20, 30, 30, 30]],
    ['bursts size=3 everyMs=10', 0, []],
  ])('%j for %d ms comes at %j', (text, lengthMs, instants) => {
    expect(arrivalsMs(text, lengthMs, 1)).toEqual(instants);
  });

  it('does not drift: the millionth constant arrival is exact', () => {
    const instants = arrivalsMs('constant rate=3000', 400_000, 1);
    expect(instants.length).toBe(1_200_000);
    expect(instants[999_999]).toBeCloseTo(999_999 / 3, 6);
  });

  it('is the same for the same seed, and differs for another', () => {
    const text = 'poisson rate=1000';
    expect(arrivalsMs(text, 100, 7)).toEqual(arrivalsMs(text, 100, 7));
    expect(arrivalsMs(text, 100, 8)).not.toEqual(arrivalsMs(text, 100, 7));
    expect(parsePattern(text).isRandom).toBe(true);
    expect(parsePattern('constant rate=1').isRandom).toBe(false);
  });

  it(`poisson has the rate, and the variance, of a Poisson process (seed ${SEED})`, () => {
    const counts = new Array<number>(10_000).fill(0);
    for (const ms of arrivalsMs('poisson rate=10000', 100_000, SEED)) {
      counts[Math.floor(ms / 10)] = (counts[Math.floor(ms / 10)] ?? 0) + 1;
    }
    const mean = counts.reduce((sum, count) => sum + count) / counts.length;
    const variance =
      counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / (counts.length - 1);
    // 100 in each 10 ms: seven standard errors of the mean and of the variance.
    expect(Math.abs(mean - 100)).toBeLessThan(7 * 0.1);
    expect(Math.abs(variance - 100)).toBeLessThan(7 * Math.SQRT2);
  });

  it.each([
    ['steady rate=1', /begin with one of constant, poisson, bursts/],
    ['poisson', /must be poisson rate=/],
    ['poisson rate=0', /rate must be a number at least .*got 0/],
    ['bursts size=1.5 everyMs=10', /size must be an integer.*got 1\.5/],
    ['bursts size=1 everyMs=10 overMs=11', /overMs must be .*at most 10, got 11/],
  ])('%j is refused, with the reason', (text, reason) => {
    expect(() => parsePattern(text)).toThrow(RangeError);
    expect(() => parsePattern(text)).toThrow(reason);
  });
});
