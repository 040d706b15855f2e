// Constants of the script and of what it stores. build.mjs writes them for the Lua files, by these
// names. This file imports only constants.

/** A time in ticks is its high part times HALF, plus its low part. */
export const HALF = 2 ** 29;

/**
 * A bucket is a string on the server: these numbers as doubles, then {@link LIMIT_FIELDS} of each
 * limit, then the texts of the limits with semicolons between.
 *
 * | | |
 * |---|---|
 * | format | eight letters: those of FORMAT, then the number of limits |
 * | check | the sum of the three last fields of all limits, by which damage shows |
 * | lag | what is added to the server's clock since it was set back |
 * | epoch | how often the limits or the origin have changed |
 * | origin | the instant from which ticks count, in microseconds |
 * | expires | when the key expires, in microseconds of the server's clock; NEVER if it is kept |
 * | seen | the time of the last write in microseconds |
 */
export const FIELDS = ['format', 'check', 'lag', 'epoch', 'origin', 'expires', 'seen'] as const;

/**
 * | | |
 * |---|---|
 * | low, high | the zero-time in ticks since the origin: high * HALF + low; high is 0 if low holds it |
 * | perToken, perMicro | the limit in ticks |
 * | cap | the burst in ticks; NO_SHORT_PATH if the short path can't work with the limit |
 */
export const LIMIT_FIELDS = ['low', 'high', 'perToken', 'perMicro', 'cap'] as const;

/** Seven of the eight letters of `format`. The 1 is the version of the format. */
export const FORMAT = 'zerot1:';

/** The field `format` of a bucket with this many limits. */
export function formatOf(limits: number): number {
  const letters = new TextEncoder().encode(`${FORMAT}${limits}`);
  return new DataView(letters.buffer).getFloat64(0, true);
}

/** `cap` of a limit with fills or too large a burst. */
export const NO_SHORT_PATH = -1;
/** The largest burst and debt, in ticks, of the short path: 6 days of 1/4096 us. */
export const SHORT_TICKS = 2 ** 51;
/** The largest zero-time that is stored as one number. */
export const ONE_NUMBER_TICKS = 2 ** 52 + 2 ** 51;
/** An instant that never comes. */
export const NEVER = 1e300;
/** The start of the script's error for a value that is not a bucket. */
export const NO_BUCKET = 'ZEROTIMENOBUCKET';

/** The script's first answer. */
export const ANSWER = {
  /** The call was carried out. */
  done: 0,
  /** The caller has given up. */
  late: -1,
  /** Other limits apply. */
  stale: -2,
  /** There is no bucket, and the assumed limits are not those of the caller's options. */
  gone: -3,
} as const;
/** In place of the number of calls that a take admits: more than the bucket can ever hold. */
export const MORE_THAN_BURST = -1;
