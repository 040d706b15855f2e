import {
  checkRule,
  createSometimesCell,
  type HostedSometimes,
  openSometimes,
  readRule,
} from '../kernel/window/sometimes.ts';
import { checkOptions, type Known } from '../known-options.ts';
import type { KernelName } from '../memory/handle.ts';
import { checkMade, shown } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import {
  checkShared,
  find,
  handleOf,
  type LimiterHandle,
  type OpenLimiter,
  type OpenOptions,
  openByName,
  type SharedOptions,
} from './opening.ts';
import type { Region } from './region.ts';
import { Described, type Description } from './state.ts';
import { sometimesTerms } from './terms.ts';
import { Reading } from './window.ts';

/** Options of {@link Sometimes.create}. 0, the default, turns an option off. */
export interface SometimesOptions extends Omit<SharedOptions, 'stats'> {
  /** The first `first` calls are due: an integer from 0 to 536,870,911. */
  readonly first?: number;
  /**
   * The first call and every `every`-th call after it are due: an integer from 0 to 536,870,911.
   */
  readonly every?: number;
  /** A call is due this many milliseconds after the last due one: 0 to 1e11, fractions allowed. */
  readonly intervalMs?: number;
}

const OPTIONS: Known<SometimesOptions> = {
  first: true,
  every: true,
  intervalMs: true,
  clock: true,
  region: true,
  kernel: true,
};

/**
 * Runs an action on some calls only, counted over all threads: on the first call, the first N,
 * every Nth, and once per interval. Modeled on Go's `rate.Sometimes`
 * (https://pkg.go.dev/golang.org/x/time/rate#Sometimes).
 *
 * @example
 * ```ts
 * const sometimes = Sometimes.create({ first: 3, intervalMs: 10_000 });
 * sometimes.do(() => console.warn('the queue is full'));
 * ```
 */
export class Sometimes extends Described {
  /** The clock, the same one for all threads. */
  readonly clock: Clock;
  readonly #opened: OpenLimiter<'sometimes'>;
  readonly #kernel: HostedSometimes;
  readonly #reading: Reading;

  private constructor(opened: OpenLimiter<'sometimes'>) {
    super();
    this.#opened = checkMade(new.target, opened, 'cell');
    this.#kernel = openSometimes(opened.cell, opened.kernel);
    this.clock = opened.clock;
    this.#reading = new Reading(opened.clock);
  }

  /**
   * Creates a counter of calls.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: SometimesOptions): Sometimes {
    const { first = 0, every = 0, intervalMs = 0 } = checkOptions(options, OPTIONS);
    const rule = checkRule({ first, every, intervalMs });
    const { clock, region, kernel } = checkShared(options);
    const cell = createSometimesCell(rule, clock.now(), region);
    return new Sometimes({ kind: 'sometimes', cell, clock, kernel });
  }

  /**
   * Opens the counter named `name` in a region, or creates it. All threads, and all processes that
   * share the region, get the same one. Options as for {@link create}.
   *
   * @example
   * ```ts
   * const region = Region.create();
   * const sometimes = Sometimes.open(region, 'api', { every: 100 });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to another kind of limiter, or to
   * one with other options, unless `onMismatch` allows it.
   * @throws RangeError, TypeError, RateLimitError as {@link create} does.
   */
  static open(region: Region, name: string, options: OpenOptions<SometimesOptions>): Sometimes {
    const maker = { ...sometimesTerms, known: OPTIONS, made: Sometimes };
    return openByName(maker, region, name, options);
  }

  /**
   * Attaches this thread to the counter behind a handle.
   *
   * @throws HandleError if `handle` is not a `Sometimes`'s, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'sometimes'>): Sometimes {
    return new Sometimes(find(sometimesTerms, handle));
  }

  /** Send this to another thread and pass it to `attach` there. */
  get handle(): LimiterHandle<'sometimes'> {
    return handleOf(this.#opened);
  }

  /** The kernel that this thread uses. */
  get kernelName(): KernelName {
    return this.#kernel.name;
  }

  /** @internal */
  protected describe(): Description {
    const { first, every, intervalMs } = readRule(this.#opened.cell);
    return ['Sometimes', { first, every, intervalMs }];
  }

  /** Counts a call and returns whether to act on it. */
  isDue(): boolean {
    return this.#kernel.isDue(this.#reading);
  }

  /**
   * Counts a call, runs `action` if the call is due, and returns whether it ran. If the action
   * throws, the call still counts.
   *
   * @throws TypeError if `action` is not a function; the call is not counted then.
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
