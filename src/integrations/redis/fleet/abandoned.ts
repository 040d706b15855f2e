import { TICKS_PER_MICRO } from '../../../kernel/constants.ts';
import { FLEET_STOCK, FLEET_STOCK_BYTES } from '../../../memory/layout/fleet.ts';
import { exchangeDouble, loadDouble } from '../../../memory/shared-double.ts';

/** BigInt64 indices in the signals. */
const ABANDONED_AT = FLEET_STOCK.abandoned >> 3;
const PASSED_ON_AT = FLEET_STOCK.passedOn >> 3;
const UNTIL_AT = FLEET_STOCK.abandonedUntil >> 3;

/** The tokens of a reservation in whole ticks of the stock's clock, so that their sums are exact. */
export function inTicks(n: number): number {
  return Math.floor(n * TICKS_PER_MICRO) / TICKS_PER_MICRO;
}

/**
 * The reservations of ended processes, in shared memory. Callers behind them get their tokens.
 *
 * If d tokens are abandoned, all of them due until u, and a stock has had t tokens, d of them may be
 * skipped once t >= u - d. All abandoned reservations are then due by t + d, so that the others due
 * by then need at most t tokens. Skipping them earlier would spend tokens before they are bought.
 * No reservation is due after t - balance, and u may be later: the last ones may have been cancelled.
 */
export class Abandoned {
  readonly #words: BigInt64Array<SharedArrayBuffer>;

  constructor({ buffer, byteOffset }: Int32Array<SharedArrayBuffer>) {
    this.#words = new BigInt64Array(buffer, byteOffset, FLEET_STOCK_BYTES >> 3);
  }

  /** The tokens not passed on yet. */
  get tokens(): number {
    return loadDouble(this.#words, ABANDONED_AT) - loadDouble(this.#words, PASSED_ON_AT);
  }

  /** Claims the tokens if they can be passed on at `nowUs` of the stock's clock; otherwise 0. */
  claim(nowUs: number, balance: () => number): number {
    for (;;) {
      const passedOn = loadDouble(this.#words, PASSED_ON_AT);
      // Both sums only grow, so that no token is claimed twice.
      const sum = loadDouble(this.#words, ABANDONED_AT);
      const tokens = sum - passedOn;
      if (!(tokens > 0)) return 0;
      // The balance is read after the sum: it includes the reservations of all its parts.
      const canPass =
        nowUs >= loadDouble(this.#words, UNTIL_AT) - tokens || balance() + tokens >= 0;
      if (!canPass) return 0;
      if (exchangeDouble(this.#words, PASSED_ON_AT, passedOn, sum)) return tokens;
    }
  }
}
