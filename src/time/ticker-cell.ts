import { HandleError } from '../errors.ts';
import { newNonce } from '../memory/cell.ts';
import { TICKER_CLOCK, TICKER_CLOCK_BYTES } from '../memory/layout.ts';
import { sharedBytes } from '../memory/shared-bytes.ts';
import { loadDouble, storeDouble } from '../memory/shared-double.ts';
import { isShared } from '../memory/shared-memory.ts';
import { checkNumber } from '../options.ts';

/** The range of a ticker's period. */
const PERIOD_MS = { min: 0.1, max: 1000 } as const;

/** The period of a ticker that spins: the unit of its beats. */
const SPIN_PERIOD_US = 0.25;

/** Published when a ticker ends: older than readers accept. */
const ENDED = Number.NEGATIVE_INFINITY;

/** @throws RangeError, TypeError if `periodMs` is neither 0 nor in the range of a period. */
export function checkPeriod(periodMs: number): number {
  return periodMs === 0 ? 0 : checkNumber('periodMs, unless 0,', periodMs, PERIOD_MS);
}

/** The shared memory in which a ticker publishes the time. */
export class TickerCell {
  readonly buffer: SharedArrayBuffer;
  readonly periodUs: number;
  readonly nonce: number;
  /** Whether the ticker publishes without pause; then it writes only `beats`. */
  readonly isSpinning: boolean;
  /**
   * One element. Each tick stores the time and then adds one here. A ticker that spins instead
   * stores the time here, in units of its period modulo 2^32.
   */
  readonly beats: Int32Array<SharedArrayBuffer>;
  readonly #now: BigInt64Array<SharedArrayBuffer>;

  /** Over the memory of a ticker. */
  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.beats = new Int32Array(buffer, TICKER_CLOCK.beats, 1);
    this.#now = new BigInt64Array(buffer, TICKER_CLOCK.now, 1);
    const period = new Float64Array(buffer, TICKER_CLOCK.periodUs, 1);
    this.periodUs = period[0] as number; // never out of bounds
    this.nonce = new Int32Array(buffer, TICKER_CLOCK.nonce, 1)[0] as number; // it has one element
    this.isSpinning = this.periodUs === SPIN_PERIOD_US;
  }

  /** @throws HandleError `ERR_HANDLE_INVALID` if `buffer` is not a ticker's. */
  static open(buffer: unknown): TickerCell {
    if (!isShared(buffer) || buffer.byteLength !== TICKER_CLOCK_BYTES) {
      throw new HandleError('ERR_HANDLE_INVALID', "the handle has no ticker clock's memory");
    }
    const cell = new TickerCell(buffer);
    const periodMs = cell.periodUs / 1000;
    const isInRange = periodMs >= PERIOD_MS.min && periodMs <= PERIOD_MS.max;
    if (!isInRange && !cell.isSpinning) {
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

  /** The time of a beat of a spinning ticker, given a time less than 9 minutes later. */
  timeOf(beat: number, laterUs: number): number {
    const later = Math.floor(laterUs / SPIN_PERIOD_US);
    return (later - ((later - beat) | 0)) * SPIN_PERIOD_US;
  }

  publish(nowUs: number): void {
    storeDouble(this.#now, 0, nowUs);
    Atomics.add(this.beats, 0, 1);
  }

  /**
   * Makes all readers switch to the system clock; those of a spinning ticker do so because it
   * stops.
   */
  end(): void {
    this.publish(ENDED);
  }
}

/** Creates the memory of a ticker, which spins if the period is 0. */
export function createTickerCell(periodMs: number): TickerCell {
  const buffer = sharedBytes(TICKER_CLOCK_BYTES);
  const periodUs = periodMs === 0 ? SPIN_PERIOD_US : periodMs * 1000;
  new Float64Array(buffer, TICKER_CLOCK.periodUs, 1)[0] = periodUs;
  new Int32Array(buffer, TICKER_CLOCK.nonce, 1)[0] = newNonce();
  const cell = new TickerCell(buffer);
  cell.end();
  return cell;
}
