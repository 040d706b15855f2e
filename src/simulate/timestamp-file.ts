import { createReadStream, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { formatOf, type Timestamp, type TimestampFormat } from './timestamps.ts';

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
 * With `spread`, timestamps of the same whole second are spread evenly over it. Otherwise they all
 * arrive at the same instant.
 */
export class TimestampFile {
  readonly #lines: AsyncIterable<string>;
  readonly #spread: boolean;
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
      const atUs = fromUs + (index * SECOND_US) / count;
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
