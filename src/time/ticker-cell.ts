import { HandleError } from '../errors.ts';
import { TICKER_CLOCK, TICKER_CLOCK_BYTES } from '../memory/layout.ts';
import { sharedBytes } from '../memory/shared-bytes.ts';
import { loadDouble, storeDouble } from '../memory/shared-double.ts';
import { isShared } from '../memory/shared-memory.ts';

/** The range of a ticker's period. */
export const PERIOD_MS = { min: 0.1, max: 1000 } as const;

/** Published when a ticker has ended: older than any reader accepts. */
const ENDED = Number.NEGATIVE_INFINITY;

/** The shared memory in which a ticker publishes the time. */
export class TickerCell {
  readonly buffer: SharedArrayBuffer;
  readonly periodUs: number;
  /** One element, incremented by each tick after it has stored the time. */
  readonly beats: Int32Array<SharedArrayBuffer>;
  readonly #now: BigInt64Array<SharedArrayBuffer>;

  private constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.beats = new Int32Array(buffer, TICKER_CLOCK.beats, 1);
    this.#now = new BigInt64Array(buffer, TICKER_CLOCK.now, 1);
    const period = new Float64Array(buffer, TICKER_CLOCK.periodUs, 1);
    this.periodUs = period[0] as number; // never out of bounds
  }

  static create(periodMs: number): TickerCell {
    const buffer = sharedBytes(TICKER_CLOCK_BYTES);
    new Float64Array(buffer, TICKER_CLOCK.periodUs, 1)[0] = periodMs * 1000;
    const cell = new TickerCell(buffer);
    cell.end();
    return cell;
  }

  /** @throws HandleError `ERR_HANDLE_INVALID` if `buffer` is not a ticker's. */
  static open(buffer: unknown): TickerCell {
    if (!isShared(buffer) || buffer.byteLength !== TICKER_CLOCK_BYTES) {
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

  /** The latest published time. */
  now(): number {
    return loadDouble(this.#now, 0);
  }

  publish(nowUs: number): void {
    storeDouble(this.#now, 0, nowUs);
    Atomics.add(this.beats, 0, 1);
  }

  /** Makes all readers switch to the system clock. */
  end(): void {
    this.publish(ENDED);
  }
}
