import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkGuarantee } from '../../src/load/judge/guarantee.ts';

const MS = 1_000;
/** An uptime of ten days in microseconds, where doubles are coarser than near zero. */
const UPTIME_US = 864_000e6;

function log(...instantsMs: number[]): Float64Array {
  return Float64Array.from(instantsMs, (ms) => UPTIME_US + ms * MS);
}

/** Checks every pair, as the guarantee is defined. */
function holdsByAllPairs(instants: Float64Array, rate: number, burst: number): boolean {
  return instants.every((end, j) =>
    instants
      .subarray(0, j + 1)
      .every((start, i) => j - i + 1 <= burst + (rate * (end - start)) / 1e6 + 1e-4),
  );
}

describe('checkGuarantee', () => {
  it.each([
    // rate, burst, instants in ms, held
    [1000, 1, [], true],
    [1000, 1, [0], true],
    [1000, 1, [0, 1, 2, 3], true],
    [1000, 1, [0, 1, 1.9, 3], false],
    [1000, 1, [0, 0], false],
    [1000, 2, [0, 0], true],
    [1000, 2, [0, 0, 0], false],
    [1000, 2, [0, 0, 1, 2], true],
    [1000, 2, [0, 0, 1, 1, 2], false],
    [1000, 2, [0, 0, 5, 5, 6], true],
    [1000, 3, [0, 10, 20, 20, 20, 20], false],
    [0.5, 1, [0, 2000, 4000], true],
    [0.5, 1, [0, 1999, 4000], false],
    [1e6, 1, [0, 0.001, 0.002], true],
    [1e6, 1, [0, 0.001, 0.001], false],
  ])('rate %d, burst %d: %j held is %s', (rate, burst, instantsMs, held) => {
    expect(checkGuarantee(log(...instantsMs), rate, burst).held).toBe(held);
  });

  it('notices one token too many anywhere in a long log', () => {
    const rate = 2_000;
    const schedule = Array.from({ length: 20_000 }, (_, index) => index / 2);
    expect(checkGuarantee(log(...schedule), rate, 1).held).toBe(true);
    for (const at of [0, 1, 9_999, 19_999]) {
      const oneMore = [...schedule.slice(0, at), at / 2, ...schedule.slice(at)];
      const verdict = checkGuarantee(log(...oneMore), rate, 1);
      expect(verdict.held).toBe(false);
      expect(verdict.tightest?.admitted).toBeGreaterThan(verdict.tightest?.allowed ?? 0);
    }
  });

  it('tolerates the rounding of doubles, and much less than a token', () => {
    const { toleranceInTokens: tolerance } = checkGuarantee(log(0, 1, 2), 1e6, 1);
    expect(tolerance).toBeGreaterThan(0);
    expect(tolerance).toBeLessThan(0.01);
  });

  it('agrees with a check of every pair', () => {
    const logs = fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 30 });
    fc.assert(
      fc.property(logs, fc.integer({ min: 1, max: 4 }), (steps, burst) => {
        const instants = log(...steps.toSorted((a, b) => a - b));
        expect(checkGuarantee(instants, 500, burst).held).toBe(
          holdsByAllPairs(instants, 500, burst),
        );
      }),
    );
  });

  it('reports the tightest interval', () => {
    // Two pairs are equally close to the limit of 2; then follow three in 1 ms, where 3 are
    // allowed.
    const { tightest } = checkGuarantee(log(0, 10, 20, 20, 21), 1_000, 2);
    expect(tightest).toMatchObject({ admitted: 3, startsAfterMs: 20, lengthMs: 1 });
    expect(tightest?.allowed).toBeCloseTo(3, 6);
  });

  it('reports the longest of equally tight intervals', () => {
    const { tightest, intervals } = checkGuarantee(log(0, 1, 2, 3), 1_000, 1);
    expect(tightest).toMatchObject({ admitted: 4, startsAfterMs: 0, lengthMs: 3 });
    expect(intervals).toBe(10);
  });

  it('rejects a log that is unsorted or contains other values than numbers', () => {
    expect(() => checkGuarantee(log(1, 0), 1, 1)).toThrow(RangeError);
    expect(() => checkGuarantee(log(0, Number.NaN), 1, 1)).toThrow(RangeError);
  });
});
