/** The inputs of a probability. */
interface Measured {
  /** The limit: spans per second, and spans at once. */
  readonly rate: number;
  readonly burst: number;
  /** Tokens in the bucket. */
  readonly balance: number;
  /** The arrival rate. */
  readonly perSecond: number;
}

/** The minimum share of the rate to aim at while there are tokens. */
const LEAST_SHARE = 1 / 128;

/**
 * The probability of keeping the next span that holds the bucket half full: rate divided by
 * arrivals, lower if the bucket is emptier and higher if it is fuller. This corrects for the delay
 * of the smoothed rate after a jump. The next span's randomness has no influence, so adjusted
 * counts are unbiased.
 */
export function probabilityOf({ rate, burst, balance, perSecond }: Measured): number {
  const room = Math.max(0, burst - balance);
  // With less than a token, every span is refused. Aim at the rate, so that refusals are counted.
  const share = balance < 1 ? 1 : Math.max(balance - 1, LEAST_SHARE * room) / room;
  return Math.min(1, (rate * share) / perSecond);
}
