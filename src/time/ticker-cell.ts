import { HandleError } from '../errors.ts';
import { isShared } from '../memory/region.ts';

/**
 *     64 │ now f64, microseconds │ periodUs f64 │ beats i32 │
 *
 * `beats` changes whenever `now` does, and after it. 64 bytes of nothing lie on either side, so that
 * nothing else shares the cache line, wherever in memory the buffer begins.
 */
const MARGIN = 64;
/** Byte offsets. */
export const TICKER = { now: MARGIN, period: MARGIN + 8, beats: MARGIN + 16 } as const;
const BYTES = MARGIN + 24 + MARGIN;

/** The periods that a ticker can have. */
export const PERIOD_MS = { min: 0.1, max: 1000 } as const;

/** Published by a ticker that has ended: later than any instant is late. */
const ENDED = Number.NEGATIVE_INFINITY;

/** Where a ticker publishes the time. */
export class TickerCell {
  readonly buffer: SharedArrayBuffer;
  readonly periodUs: number;
  /** One element: changes with each tick. */
  readonly beats: Int32Array<SharedArrayBuffer>;
  readonly #nowBits: BigInt64Array<SharedArrayBuffer>;
  readonly #float = new Float64Array(1);
  readonly #bits = new BigInt64Array(this.#float.buffer);

  private constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.beats = new Int32Array(buffer, TICKER.beats, 1);
    this.#nowBits = new BigInt64Array(buffer, TICKER.now, 1);
    this.periodUs = new Float64Array(buffer, TICKER.period, 1)[0] as number; // never out of bounds
  }

  static create(periodMs: number): TickerCell {
    const buffer = new SharedArrayBuffer(BYTES);
    new Float64Array(buffer, TICKER.period, 1)[0] = periodMs * 1000;
    const cell = new TickerCell(buffer);
    cell.end();
    return cell;
  }

  /** @throws HandleError `ERR_HANDLE_INVALID` if `buffer` is no ticker's. */
  static open(buffer: unknown): TickerCell {
    if (!isShared(buffer) || buffer.byteLength !== BYTES) {
      throw new HandleError('ERR_HANDLE_INVALID', "the handle holds no ticker clock's memory");
    }
    const cell = new TickerCell(buffer);
    const periodMs = cell.periodUs / 1000;
    if (!(periodMs >= PERIOD_MS.min && periodMs <= PERIOD_MS.max)) {
      throw new HandleError(
        'ERR_HANDLE_INVALID',
        `a ticker cannot have a period of ${periodMs} ms`,
      );
    }
    return cell;
  }

  /** What was published last. */
  now(): number {
    // A double that is read without Atomics may be torn, by the language's memory model.
    this.#bits[0] = Atomics.load(this.#nowBits, 0);
    return this.#float[0] as number; // the same eight bytes
  }

  publish(nowUs: number): void {
    this.#float[0] = nowUs;
    Atomics.store(this.#nowBits, 0, this.#bits[0] as bigint); // the same eight bytes
    Atomics.add(this.beats, 0, 1);
  }

  /** Tells all readers that nothing more will come. */
  end(): void {
    this.publish(ENDED);
  }
}
