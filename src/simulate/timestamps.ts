/** A timestamp read from a line of text. */
export interface Timestamp {
  /** Microseconds since 1970; small numbers count from an unknown origin. */
  readonly us: number;
  /** Whether it has whole seconds only. */
  readonly isWholeSecond: boolean;
}

/** A format of timestamps. */
export interface TimestampFormat {
  readonly name: string;
  /** Undefined if the line contains none. */
  read(line: string): Timestamp | undefined;
}

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';
const COMMON_LOG = /\[(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)\]/;
const ISO = /(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d+))?(?: ?(Z|UTC|[+-]\d\d:?\d\d))?/;
const NUMBER = /^\s*"?(\d+)(\.\d+)?(?=$|[\s,;"])/;

/** Numbers from here on are milliseconds: as seconds it is the year 5138, as milliseconds 1973. */
const FIRST_MS = 1e11;
const BEYOND_MS = 1e14;

/** `[10/Oct/2000:13:55:36 -0700]`, as in web server logs. */
const commonLog: TimestampFormat = {
  name: 'common log format',
  read(line) {
    const found = COMMON_LOG.exec(line);
    if (found === null) return undefined;
    const [, day, name = '', year, hour, minute, second, sign, hours, minutes] = found;
    const month = MONTHS.indexOf(name) / 3;
    if (!Number.isInteger(month) || month < 0) return undefined;
    const local = Date.UTC(
      Number(year),
      month,
      Number(day),
      Number(hour),
      Number(minute),
      Number(second),
    );
    const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
    return {
      us: (sign === '-' ? local + offsetMs : local - offsetMs) * 1_000,
      isWholeSecond: true,
    };
  },
};

/** `2000-10-10T13:55:36.123-07:00`, anywhere in the line. UTC if it has no zone. */
const isoDate: TimestampFormat = {
  name: 'ISO dates',
  read(line) {
    const found = ISO.exec(line);
    if (found === null) return undefined;
    const [, date, time, fraction, zone = 'Z'] = found;
    const suffix = zone === 'UTC' ? 'Z' : zone.replace(/(\d\d):?(\d\d)$/, '$1:$2');
    const ms = Date.parse(`${date}T${time}${suffix}`);
    if (Number.isNaN(ms)) return undefined;
    const us = ms * 1_000 + Number(`0.${fraction ?? 0}`) * 1e6;
    return { us, isWholeSecond: fraction === undefined };
  },
};

/** Seconds or milliseconds, at the start of the line. */
const epoch: TimestampFormat = {
  name: 'epoch seconds or milliseconds',
  read(line) {
    const [, whole, fraction] = NUMBER.exec(line) ?? [];
    if (whole === undefined) return undefined;
    const value = Number(whole + (fraction ?? ''));
    if (value >= BEYOND_MS) return undefined;
    const isMs = value >= FIRST_MS;
    return { us: value * (isMs ? 1e3 : 1e6), isWholeSecond: !isMs && fraction === undefined };
  },
};

const FORMATS: readonly TimestampFormat[] = [commonLog, isoDate, epoch];

/** The first format that matches this line. */
export function formatOf(line: string): TimestampFormat | undefined {
  return FORMATS.find((format) => format.read(line) !== undefined);
}
