/** What a probability is computed from. */
interface Measured {
  /** The limit: spans per second, and at most this many at once. */
  readonly rate: number;
  readonly burst: number;
  /** Tokens in the bucket. */
  readonly balance: number;
  /** The rate of arrivals. */
  readonly perSecond: number;
}

/** The least part of the rate to aim at while there are tokens. */
const LEAST_SHARE = 1 / 128;

/**
 * The probability with which to keep the next span, so that the bucket stays half full: rate over
 * arrivals, less if the bucket is emptier and more if it is fuller. It bridges the time that the
 * smoothed rate takes to follow a jump. It never depends on the next span's randomness, so adjusted
 * counts are unbiased whatever it is.
 */
export function probabilityOf({ rate, burst, balance, perSecond }: Measured): number {
  const room = Math.max(0, burst - balance);
  // With less than a token, every span is refused: aim at the rate, so that refusals show it.
  const share = balance < 1 ? 1 : Math.max(balance - 1, LEAST_SHARE * room) / room;
  return Math.min(1, (rate * share) / perSecond);
}
