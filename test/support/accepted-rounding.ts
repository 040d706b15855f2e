import { expect } from 'vitest';
import type { Limit } from '../oracle/contents.ts';
import { Rational } from './rational.ts';

const TICKS_PER_SECOND = 4096e6;
const MORE_THAN_A_TICK_US = 1 / 2048;

/**
 * Compares answers with exact ones. If costs and instants are whole numbers of ticks, they must
 * agree exactly. Otherwise (`isRounded`) it adds up the documented roundings, and accepts a decision
 * if the exact margin is smaller than their sum.
 */
export class AcceptedRounding {
  readonly #isRounded: boolean;
  #tokens = Rational.ZERO;

  constructor(isRounded: boolean) {
    this.#isRounded = isRounded;
  }

  /** The sum of the roundings so far, in tokens. */
  get tokens(): Rational {
    return this.#tokens;
  }

  /** Accepts this many ticks more, of a bucket with this limit. */
  allow(ticks: number, limit: Limit): void {
    if (!this.#isRounded || !('rate' in limit)) return;
    const ticksPerToken = Math.max(1, Math.round(TICKS_PER_SECOND / limit.rate));
    this.#tokens = this.#tokens.plus(Rational.of(ticks).over(Rational.of(ticksPerToken)));
  }

  /** Whether so few tokens are a matter of rounding. */
  covers(tokens: Rational): boolean {
    return this.#isRounded && tokens.abs().compare(this.#tokens) <= 0;
  }

  /** A decision, which is right if the margin is not negative. */
  check(what: string, ours: boolean, margin: Rational): void {
    if (this.covers(margin)) return;
    expect(ours, `${what}, by ${margin.toNumber()} tokens`).toBe(
      margin.compare(Rational.ZERO) >= 0,
    );
  }

  sameTokens(what: string, ours: number, exact: Rational): void {
    same(what, ours, exact, this.#tokens);
  }

  /** A duration of a bucket with this limit, at an instant. */
  sameMs(
    what: string,
    ours: number,
    exactUs: Rational | undefined,
    limit: Limit,
    nowUs: number,
  ): void {
    // Instants are doubles too: the larger they are, the coarser.
    const grainUs = 2 ** -48 * Math.abs(nowUs) + MORE_THAN_A_TICK_US;
    const grain = Rational.of(this.#isRounded ? grainUs : 0);
    const allowedUs =
      'rate' in limit
        ? this.#tokens.over(Rational.of(limit.rate / 1e6)).plus(grain)
        : this.#tokens.plus(grain);
    const thousand = Rational.of(1000);
    same(what, ours, exactUs?.over(thousand), allowedUs.over(thousand));
  }
}

/** Compares a number with an exact one, up to the rounding of the final division. */
function same(what: string, ours: number, exact: Rational | undefined, allowance: Rational): void {
  const wanted = exact?.toNumber() ?? Number.POSITIVE_INFINITY;
  if (exact === undefined || !Number.isFinite(ours)) {
    expect(ours, what).toBe(wanted);
    return;
  }
  const slack = allowance.plus(exact.abs().times(Rational.of(2 ** -50)));
  const close = Rational.of(ours).minus(exact).abs().compare(slack) <= 0;
  if (!close) expect(ours, what).toBe(wanted);
}
