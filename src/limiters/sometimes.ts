import { openSometimes } from '../kernel/core.ts';
import type { SometimesKernel } from '../kernel/window/kernel.ts';
import {
  checkOccasions,
  createSometimesCell,
  openSometimesCell,
} from '../kernel/window/sometimes.ts';
import type { KernelName } from '../memory/handle.ts';
import { checkObject, shown } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import {
  checkShared,
  find,
  handleOf,
  type LimiterHandle,
  type OpenLimiter,
  type SharedOptions,
} from './opening.ts';
import { Reading } from './reading.ts';

/** Options of {@link Sometimes.create}. What is left out, or 0, is no occasion. */
export interface SometimesOptions extends Omit<SharedOptions, 'stats'> {
  /** The first so many calls: an integer from 0 to 536,870,911. */
  readonly first?: number;
  /** The first call and each so many after it: an integer from 0 to 536,870,911. */
  readonly every?: number;
  /** A call so many milliseconds or more after the last occasion: 0 to 1e11, fractions allowed. */
  readonly intervalMs?: number;
}

/**
 * Does something on some of many calls, over all threads together: on the first N, on every Nth, and
 * at most once an interval; on the first call in any case. After Go's `rate.Sometimes`
 * (https://pkg.go.dev/golang.org/x/time/rate#Sometimes).
 *
 * @example
 * ```ts
 * const sometimes = Sometimes.create({ first: 3, intervalMs: 10_000 });
 * sometimes.do(() => console.warn('the queue is full'));
 * ```
 */
export class Sometimes {
  /** The clock that every thread reads. */
  readonly clock: Clock;
  readonly #opened: OpenLimiter<'sometimes'>;
  readonly #kernel: SometimesKernel;
  readonly #reading: Reading;

  private constructor(opened: OpenLimiter<'sometimes'>) {
    this.#opened = opened;
    this.#kernel = openSometimes(opened.cell, opened.kernel);
    this.clock = opened.clock;
    this.#reading = new Reading(opened.clock);
  }

  /**
   * Starts to count calls.
   *
   * @throws RangeError, TypeError for an option out of its range, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: SometimesOptions): Sometimes {
    const { first = 0, every = 0, intervalMs = 0 } = checkObject('options', options);
    const occasions = checkOccasions({ first, every, intervalMs });
    const { clock, region, kernel } = checkShared(options);
    const cell = createSometimesCell(occasions, clock.now(), region);
    return new Sometimes({ kind: 'sometimes', cell, clock, kernel });
  }

  /**
   * Attaches this thread to the counting of a handle.
   *
   * @throws HandleError if it is not such a handle, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'sometimes'>): Sometimes {
    return new Sometimes(find('sometimes', handle, openSometimesCell));
  }

  /** Attaches another thread: send it there, and give it to `attach`. */
  get handle(): LimiterHandle<'sometimes'> {
    return handleOf(this.#opened);
  }

  /** What this thread works on the count's memory with. */
  get kernelName(): KernelName {
    return this.#kernel.name;
  }

  /** Counts a call, and says whether to act on it. */
  isDue(): boolean {
    return this.#kernel.isDue(this.#reading);
  }

  /**
   * Counts a call, does `action` if it is one to act on, and says whether it did. What the action
   * throws is thrown on; the call counts all the same.
   *
   * @throws TypeError if `action` is no function; no call is counted then.
   */
  do(action: () => void): boolean {
    if (typeof action !== 'function') {
      throw new TypeError(`action must be a function, got ${shown(action)}`);
    }
    const due = this.isDue();
    if (due) action();
    return due;
  }
}
