import { createReadStream, statSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** A timestamp read from a line of text. */
interface Timestamp {
  /** Microseconds since 1970; small numbers count from an unknown origin. */
  readonly us: number;
  /** Whether it has whole seconds only. */
  readonly isWholeSecond: boolean;
}

/** A format of timestamps. */
interface TimestampFormat {
  readonly name: string;
  /** Undefined if the line contains none. */
  read(line: string): Timestamp | undefined;
}

const COMMON_LOG = /\[(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d:\d\d:[0-5]\d) ([+-]\d{4})\]/;
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
    const [, day, month, year, time, zone] = found;
    const ms = Date.parse(`${day} ${month} ${year} ${time} ${zone}`);
    return Number.isNaN(ms) ? undefined : { us: ms * 1_000, isWholeSecond: true };
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

const BATCH = 4_096;
const SECOND_US = 1e6;
/** A line that is further ahead of the previous one is taken for a mistake. */
const MOST_AHEAD_US = 366 * 86_400 * SECOND_US;

/** Counts over the lines read so far. */
export interface TimestampCounts {
  readonly format: string | undefined;
  /** The first arrival, in microseconds. */
  readonly startedUs: number | undefined;
  /** Lines without a timestamp in the format of the first one. */
  readonly unreadable: number;
  /** The first of them, such as `line 7: "x"`. */
  readonly firstUnreadable: string | undefined;
  /** Arrivals listed after later ones. They count as simultaneous with those. */
  readonly late: number;
}

function quoted(line: string): string {
  return JSON.stringify(line.slice(0, 80));
}

/**
 * Streams the arrivals of a file with one timestamp per line. The first arrival is at 0.
 *
 * With `spread`, timestamps of the same whole second are spread evenly over it, up to the first
 * timestamp with a fraction. Otherwise they all arrive at the same instant.
 */
export class TimestampFile {
  readonly #lines: AsyncIterable<string>;
  #spread: boolean;
  readonly #readShare: () => number | undefined;
  #format: TimestampFormat | undefined;
  #startedUs: number | undefined;
  #lineNumber = 0;
  /** The latest instant read. */
  #latestUs: number | undefined;
  #unreadable = 0;
  #firstUnreadable: string | undefined;
  #late = 0;
  #lastUs = 0;
  readonly #batch = new Float64Array(BATCH);
  #length = 0;

  constructor(
    lines: AsyncIterable<string>,
    { spread }: { readonly spread: boolean },
    readShare: () => number | undefined = () => undefined,
  ) {
    this.#lines = lines;
    this.#spread = spread;
    this.#readShare = readShare;
  }

  /** @param path a file, or `-` for standard input */
  static open(path: string, options: { readonly spread: boolean }): TimestampFile {
    const linesOf = (input: NodeJS.ReadableStream) =>
      createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
    if (path === '-') return new TimestampFile(linesOf(process.stdin), options);
    const input = createReadStream(path);
    const bytes = statSync(path, { throwIfNoEntry: false })?.size || undefined;
    return new TimestampFile(linesOf(input), options, () => bytes && input.bytesRead / bytes);
  }

  /** The share that is read, up to 1. Undefined if the length is unknown. */
  get share(): number | undefined {
    return this.#readShare();
  }

  get counts(): TimestampCounts {
    return {
      format: this.#format?.name,
      startedUs: this.#startedUs,
      unreadable: this.#unreadable,
      firstUnreadable: this.#firstUnreadable,
      late: this.#late,
    };
  }

  /**
   * Yields the instants from 0 to `endUs` in microseconds, ascending. Batches reuse the same
   * memory.
   */
  async *arrivals(endUs: number): AsyncGenerator<Float64Array> {
    let second: number | undefined;
    let inSecond = 0;
    for await (const line of this.#lines) {
      this.#lineNumber += 1;
      const timestamp = this.#read(line);
      if (timestamp === undefined) continue;
      this.#startedUs ??= timestamp.us;
      const atUs = timestamp.us - this.#startedUs;
      // Where others have fractions, a whole second is no rounded one.
      if (!timestamp.isWholeSecond) this.#spread = false;
      const isSpread = this.#spread && timestamp.isWholeSecond;
      if (second !== undefined && !(isSpread && atUs === second)) {
        yield* this.#spreadOver(second, inSecond, endUs);
        second = undefined;
        inSecond = 0;
      }
      if (atUs >= endUs) break;
      if (isSpread) {
        second = atUs;
        inSecond += 1;
      } else yield* this.#push(atUs);
    }
    if (second !== undefined) yield* this.#spreadOver(second, inSecond, endUs);
    if (this.#length > 0) yield this.#batch.subarray(0, this.#length);
  }

  #read(line: string): Timestamp | undefined {
    if (line.trim() === '') return undefined;
    this.#format ??= formatOf(line);
    const timestamp = this.#format?.read(line);
    if (timestamp !== undefined) this.#checkAhead(timestamp.us, line);
    else {
      this.#unreadable += 1;
      this.#firstUnreadable ??= `line ${this.#lineNumber}: ${quoted(line)}`;
    }
    return timestamp;
  }

  #checkAhead(us: number, line: string): void {
    const latestUs = this.#latestUs ?? us;
    if (us - latestUs > MOST_AHEAD_US) {
      const days = Math.floor((us - latestUs) / (86_400 * SECOND_US));
      throw new RangeError(
        `line ${this.#lineNumber} is ${days} days after the line before it: ${quoted(line)}`,
      );
    }
    this.#latestUs = Math.max(latestUs, us);
  }

  *#spreadOver(fromUs: number, count: number, endUs: number): Generator<Float64Array> {
    for (let index = 0; index < count; index += 1) {
      const atUs = fromUs + (this.#spread ? (index * SECOND_US) / count : 0);
      if (atUs < endUs) yield* this.#push(atUs);
    }
  }

  *#push(atUs: number): Generator<Float64Array> {
    if (atUs < this.#lastUs) this.#late += 1;
    else this.#lastUs = atUs;
    this.#batch[this.#length] = this.#lastUs;
    this.#length += 1;
    if (this.#length < BATCH) return;
    this.#length = 0;
    yield this.#batch;
  }
}
