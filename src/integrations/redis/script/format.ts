/**
 * A bucket is a string on the server: these numbers as doubles, then the text of its limit. A take
 * on the short way reads those up to `check`, and overwrites the first two only.
 *
 * | | |
 * |---|---|
 * | seen | the time of the last write in microseconds |
 * | zeroTime | in ticks since the origin, or the low half of it |
 * | format | whether the short way can work with it |
 * | expires | when the key expires, in microseconds of the server's clock |
 * | lag | what is added to the server's clock since it was set back |
 * | generation | how often the limit or the origin has changed |
 * | origin | the instant from which ticks count |
 * | perToken, perMicro, cap | the limit in ticks; cap is rounded if it is large |
 * | check | the sum of those three, by which damage shows |
 * | high | the high half of the zero-time; 0 on the short way |
 * | kept | whether the key stays for good |
 */
export const FIELDS = [
  'seen',
  'zeroTime',
  'format',
  'expires',
  'lag',
  'generation',
  'origin',
  'perToken',
  'perMicro',
  'cap',
  'check',
  'high',
  'kept',
] as const;

/** The fields as struct packs them. */
export const PACKED = `<${'d'.repeat(FIELDS.length)}`;
/** Where the text of the limit begins, counted from 1. */
export const TEXT_AT = 8 * FIELDS.length + 1;
/** The fields up to `check`. */
export const PACKED_SHORT = `<${'d'.repeat(FIELDS.indexOf('check') + 1)}`;

/** Eight letters as a double, in digits that Lua reads as the same double. */
function named(name: string): string {
  const double = new DataView(new TextEncoder().encode(name).buffer).getFloat64(0, true);
  return double.toPrecision(17);
}

/** The second format. The short way works with the first of these only. */
export const FORMATS = {
  short: named('zerotim2'),
  long: named('zerotim3'),
  several: named('zerotim4'),
} as const;

/**
 * A bucket with several limits: these numbers, whose third one tells it from a bucket with one
 * limit; `LIMIT_STATE` of each limit; `LIMIT_NUMBERS` of each limit; the texts of the limits, with
 * semicolons between. A take overwrites `seen` and the states only.
 *
 * | | |
 * |---|---|
 * | lag, generation, format, expires, origin, kept | as above |
 * | check | the sum of all `LIMIT_NUMBERS`, by which damage shows |
 * | count | the number of limits |
 * | seen | as above |
 */
export const SEVERAL_FIELDS = [
  'lag',
  'generation',
  'format',
  'expires',
  'origin',
  'kept',
  'check',
  'count',
  'seen',
] as const;
/** The halves of a zero-time: high * 2^29 + low; high is 0 if a double can hold it. */
export const LIMIT_STATE = ['high', 'low'] as const;
/** A limit in ticks, the burst in halves; its high one is 0 on the short way. */
export const LIMIT_NUMBERS = ['perToken', 'perMicro', 'capHigh', 'capLow'] as const;

/** Where a field of a bucket with several limits stands, counted from 1. */
export function severalField(name: (typeof SEVERAL_FIELDS)[number]): number {
  return SEVERAL_FIELDS.indexOf(name) + 1;
}

const DOUBLES_OF_A_LIMIT = LIMIT_STATE.length + LIMIT_NUMBERS.length;
/** The number of doubles of a bucket with `count` limits, in Lua. */
export const SEVERAL_SIZE = `(${SEVERAL_FIELDS.length} + ${DOUBLES_OF_A_LIMIT} * count)`;
/** Bytes of a bucket with several limits. */
export const SEVERAL_BYTES = {
  /** Where two fields begin, counted from 1. */
  format: 8 * severalField('format') - 7,
  count: 8 * severalField('count') - 7,
  /** Those before `seen`, which takes do not overwrite. */
  fixed: 8 * (severalField('seen') - 1),
  /** The fewest, without the texts. */
  least: 8 * (SEVERAL_FIELDS.length + 2 * DOUBLES_OF_A_LIMIT),
} as const;
/** The largest burst and debt, in ticks, of the short way: 6 days of 1/4096 us. */
export const SHORT_TICKS = 2 ** 51;
/** The start of values of the first format, which was text. */
export const OLD_FORMAT = 'zerotime1';
/** An instant that never comes. */
export const NEVER_EXPIRES = 1e300;
/** The start of the script's error for a value that is not a bucket. */
export const NO_BUCKET = 'ZEROTIMENOBUCKET';

/** The script's first answer. */
export const ANSWER = {
  /** The call was carried out. */
  done: 0,
  /** The caller has given up. */
  late: -1,
  /** Another limit applies. */
  stale: -2,
  /** There is no bucket, and the assumed limit is not that of the caller's options. */
  gone: -3,
} as const;
/** In place of the number of calls that a take admits: more than the bucket can ever hold. */
export const MORE_THAN_BURST = -1;
