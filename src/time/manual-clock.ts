import { HandleError } from '../errors.ts';
import { checkOptions } from '../known-options.ts';
import { allocateCell, type CellPlace, isKind, publishCell } from '../memory/cell.ts';
import { readFields } from '../memory/handle.ts';
import { CLOCK_KIND, MANUAL_CLOCK_BYTES } from '../memory/layout.ts';
import { namesOf, Region } from '../memory/region.ts';
import { addDouble, storeDouble } from '../memory/shared-double.ts';
import { MIN_BYTES, sharedBytes } from '../memory/shared-memory.ts';
import { checkNumber, shown } from '../options.ts';
import type { ClockHandle } from './clock.ts';
import { ManualReader, manualClockAt, manualSleepers } from './manual-reader.ts';

/** 2^51 us, the range in which a double counts quarters of a microsecond: about 71 years. */
const MAX_MS = 2_251_799_813_685.248;

function checkTime(name: string, ms: number): number {
  return checkNumber(name, ms, { min: -MAX_MS, max: MAX_MS });
}

function firstMs(options: { readonly nowMs?: number }): number {
  const { nowMs = 0 } = checkOptions(options, { nowMs: true });
  return checkTime('nowMs', nowMs);
}

/**
 * A clock for tests that you move by hand. It is in shared memory, so time passes for all threads
 * together. Sleeping threads wake when the clock reaches their instant.
 *
 * @example
 * ```ts
 * const clock = ManualClock.create();
 * const bucket = TokenBucket.create({ rate: 10, burst: 1, clock });
 * bucket.tryConsume(); // true
 * bucket.tryConsume(); // false
 * clock.advance(100);
 * bucket.tryConsume(); // true
 * ```
 */
export class ManualClock extends ManualReader {
  private constructor(place: CellPlace) {
    super(place);
  }

  /**
   * Creates a clock that starts at `nowMs` milliseconds. Default 0.
   *
   * @throws RangeError, TypeError if `nowMs` is not between -2^51 and 2^51 microseconds.
   */
  static create(options: { readonly nowMs?: number } = {}): ManualClock {
    const nowMs = firstMs(options);
    return ManualClock.allocate(Region.over(sharedBytes(MIN_BYTES)), nowMs);
  }

  /** Creates a clock in a region. @internal */
  static allocate(region: Region, nowMs: number): ManualClock {
    const place = allocateCell(region, MANUAL_CLOCK_BYTES, false);
    publishCell(place, 'manual-clock');
    const clock = new ManualClock(place);
    clock.set(nowMs);
    return clock;
  }

  /**
   * Opens the clock named `name` in a region, or creates it at `nowMs`. Processes may share it.
   * Use it to test limiters in that region.
   *
   * @example
   * ```ts
   * const region = Region.create();
   * const clock = ManualClock.open(region, 'clock');
   * const bucket = TokenBucket.open(region, 'api', { rate: 10, burst: 1, clock });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to a limiter.
   * @throws RateLimitError `ERR_REGION_FULL` if the region has no room.
   * @throws RangeError, TypeError if `name` is blank or not 1 to 112 bytes of UTF-8, or if `nowMs` is
   * not between -2^51 and 2^51 microseconds.
   */
  static open(
    region: Region,
    name: string,
    options: { readonly nowMs?: number } = {},
  ): ManualClock {
    const nowMs = firstMs(options);
    const { cell } = namesOf(region).named(region, name, () => {
      const { offset } = ManualClock.allocate(region, nowMs).place;
      return { cell: offset, clock: 0 };
    });
    if (isKind(region, cell, CLOCK_KIND)) return new ManualClock(manualClockAt(region, cell));
    throw new HandleError('ERR_NAME_MISMATCH', `${shown(name)} is a limiter's name`);
  }

  /** Moves the clock that a limiter reads. @internal */
  static of({ place }: ManualReader): ManualClock {
    return new ManualClock(place);
  }

  /**
   * Attaches this thread to the clock behind a handle.
   *
   * @throws HandleError if `handle` is not a manual clock's.
   */
  static attach(handle: ClockHandle): ManualClock {
    const fields = readFields("a clock's handle", handle, 'name', 'buffer', 'offset');
    if (fields.name !== 'manual') {
      throw new HandleError('ERR_HANDLE_INVALID', "not a manual clock's handle");
    }
    return new ManualClock(manualClockAt(Region.open(fields.buffer), fields.offset));
  }

  /** The time in milliseconds. */
  get nowMs(): number {
    return this.now() / 1000;
  }

  /**
   * Advances the clock by `ms` milliseconds. Concurrent calls add up.
   *
   * @throws RangeError, TypeError if `ms` is not from 0 to 2^51 microseconds. To go back, use
   * {@link set}.
   */
  advance(ms: number): void {
    checkNumber('ms', ms, { min: 0, max: MAX_MS });
    addDouble(this.time, 0, ms * 1000);
    this.moves.fire();
  }

  /**
   * Sets the clock to `ms` milliseconds, forwards or backwards.
   *
   * @throws RangeError, TypeError if `ms` is not between -2^51 and 2^51 microseconds.
   */
  set(ms: number): void {
    checkTime('ms', ms);
    storeDouble(this.time, 0, ms * 1000);
    this.moves.fire();
  }

  /**
   * Returns the instant, in milliseconds, at which the next async sleeper of this thread wakes;
   * Infinity if none sleeps, or if all wait for something other than time. After an abort, it may be
   * the instant of the aborted wait; then nobody else wakes before.
   */
  nextMs(): number {
    return this.#nextUs() / 1000;
  }

  #nextUs(): number {
    let nextUs = Number.POSITIVE_INFINITY;
    for (const { nonce, untilUs } of manualSleepers) {
      if (nonce === this.nonce) nextUs = Math.min(nextUs, untilUs);
    }
    return nextUs;
  }

  /**
   * Advances the clock to {@link nextMs}, so that the next async sleeper of this thread wakes, unless
   * its wait was aborted. Returns false, and does not move the clock, if none sleeps.
   *
   * @example
   * ```ts
   * const clock = ManualClock.create();
   * const bucket = TokenBucket.create({ rate: 3, burst: 1, initial: 0, clock });
   * const wait = bucket.wait();
   * clock.advanceToNext(); // true: a third of a second later
   * await wait;
   * ```
   */
  advanceToNext(): boolean {
    const nextUs = this.#nextUs();
    if (nextUs === Number.POSITIVE_INFINITY) return false;
    // A sleeper whose instant has passed may not have woken yet.
    if (nextUs > this.now()) storeDouble(this.time, 0, nextUs);
    this.moves.fire();
    return true;
  }
}
