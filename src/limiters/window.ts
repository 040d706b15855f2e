import type { Receipt } from '../kernel/bucket/kernel.ts';
import { createWindowCell, windowChanges } from '../kernel/window/cell.ts';
import { type ClockReader, type HostedWindow, openWindow } from '../kernel/window/host.ts';
import {
  checkLimit,
  checkWindowLimit,
  clockTicks,
  firstSlotWord,
  LOG_EPOCH_TICKS,
  type WindowKind,
} from '../kernel/window/limit.ts';
import { checkOptions, given, joined, type Known } from '../known-options.ts';
import { identityOf } from '../memory/cell.ts';
import type { SharedEvent } from '../memory/event.ts';
import type { KernelName } from '../memory/handle.ts';
import { checkFlag, checkMade, checkNumber } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import type { BlockingWaitOptions, Part, Takeback, Waited, WaitOptions } from './limiter.ts';
import { Line } from './line.ts';
import {
  checkShared,
  handleOf,
  type LimiterHandle,
  type OpenLimiter,
  SHARED_OPTIONS,
  type SharedOptions,
} from './opening.ts';
import { refused } from './refused.ts';
import { type Decision, Described, decisionOf, type LimiterStats, statsOf } from './state.ts';
import {
  announce,
  BLOCKING_WAIT,
  checkWait,
  NO_INSTANT_US,
  type Refusal,
  type Source,
  waitHere,
  watch,
} from './waiting.ts';

/** Reads a clock and keeps the latest reading. */
export class Reading implements ClockReader {
  readonly #clock: Clock;
  us = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  read(): void {
    this.us = this.#clock.now();
  }
}

/** Windows and logs count whole tokens only. */
export function checkWhole(n: unknown, name = 'n'): number {
  // Fast path: only an invalid value pays for the message.
  if (typeof n === 'number' && n >= 0 && Number.isInteger(n)) return n;
  return checkNumber(name, n, { min: 0, integer: true });
}

/** The options common to windows and logs. */
export interface WindowOptions extends SharedOptions {
  /**
   * Maximum number of tokens per window: an integer from 0, which admits nothing, to 1,073,741,823,
   * or to `maxLimit` of a sliding window or log.
   */
  readonly limit: number;
  /**
   * Length of the window in milliseconds, at least: 0.001 to 1e11 (3.2 years), fractions allowed.
   */
  readonly intervalMs: number;
  /** Tokens available in the first window or slot: an integer from 0 to `limit`. Default `limit`. */
  readonly initial?: number;
}

export const WINDOW_OPTIONS: Known<WindowOptions> = /* @__PURE__ */ joined(SHARED_OPTIONS, {
  limit: true,
  intervalMs: true,
  initial: true,
});

/** The new limit of a window or log; omitted fields keep their value. */
export type WindowChange = Partial<Pick<WindowOptions, 'limit' | 'intervalMs'>>;

/** The options of one kind: a window has 1 slot, and its largest limit is its limit, by default. */
interface OwnOptions {
  readonly slots?: number;
  readonly maxLimit?: number | undefined;
  readonly allowDoubleBurst?: boolean | undefined;
}

/**
 * Creates a window or log.
 *
 * @throws RangeError, TypeError for an invalid option, naming it.
 */
export function createWindow<Kind extends WindowKind>(
  kind: Kind,
  options: WindowOptions,
  own: OwnOptions,
): OpenLimiter<Kind> {
  const { limit: most, intervalMs, initial = most } = options;
  const { slots = 1, maxLimit = Math.max(1, checkLimit(kind, most)) } = own;
  const limit = checkWindowLimit(kind, { limit: most, intervalMs, slots, maxLimit });
  const taken = most - checkNumber('initial', initial, { min: 0, max: most, integer: true });
  const allowDoubleBurst = checkFlag('allowDoubleBurst', own.allowDoubleBurst, false);
  const { clock, region, stats, kernel } = checkShared(options);
  const cell = createWindowCell({
    kind,
    limit,
    originTicks: clockTicks(clock.now()) - (kind === 'sliding-log' ? LOG_EPOCH_TICKS : 0),
    word: kind === 'sliding-window' ? firstSlotWord(maxLimit) : 0n,
    taken,
    allowDoubleBurst,
    stats,
    region,
  });
  return { kind, cell, clock, kernel };
}

const CHANGE: Known<WindowChange> = { limit: true, intervalMs: true };

/**
 * The methods common to windows and logs. `n` is an integer and defaults to 1; 0 is always admitted
 * and takes nothing; more than the limit is never admitted. A limit of 0 admits nothing. A negative,
 * fractional or infinite `n` throws a RangeError, a non-numeric one a TypeError.
 */
export abstract class WindowLimiter<Kind extends WindowKind>
  extends Described
  implements Part, Source
{
  /** The clock, the same one for all threads of this limiter. */
  readonly clock: Clock;
  /** @internal */
  readonly changes: SharedEvent;
  readonly #opened: OpenLimiter<Kind>;
  readonly #kernel: HostedWindow;
  /** @internal */
  protected readonly reading: Reading;
  readonly #line: Line;

  protected constructor(opened: OpenLimiter<Kind>) {
    const { cell, clock, kernel } = checkMade(new.target, opened, 'cell');
    super();
    this.#opened = opened;
    this.#kernel = openWindow(cell, kernel);
    this.clock = clock;
    this.reading = new Reading(clock);
    this.changes = windowChanges(cell);
    this.#line = new Line(this);
  }

  /** Send this to another thread and pass it to `attach` there. */
  get handle(): LimiterHandle<Kind> {
    return handleOf(this.#opened);
  }

  /** The kernel that this thread uses. */
  get kernelName(): KernelName {
    return this.#kernel.name;
  }

  /** The largest number of tokens that a window admits; 0 while the limiter is paused. */
  get limit(): number {
    return this.#kernel.limit;
  }

  /** Length of the window in milliseconds. */
  get intervalMs(): number {
    return this.#kernel.intervalMs;
  }

  /** Changes the limit. @internal */
  protected change(change: WindowChange): void {
    this.#kernel.reconfigure(given(checkOptions(change, CHANGE, 'change'), CHANGE), this.reading);
    announce(this);
  }

  /** Takes `n` tokens now and returns true, or takes none and returns false. */
  tryConsume(n = 1): boolean {
    return this.#kernel.take(checkWhole(n), this.reading) || refused(this, n);
  }

  /** @internal */
  get takeback(): Takeback {
    return 'current';
  }

  /** @internal */
  get at(): Part['at'] {
    return { identity: identityOf(this.#opened.cell) };
  }

  /** @internal */
  take(n: number): boolean {
    return this.#kernel.take(n, this.reading);
  }

  /** @internal */
  attempt(n: number): boolean {
    return this.#kernel.tryTake(n, this.reading);
  }

  /** @internal */
  look(n: number): Refusal {
    const watched = watch(this.changes);
    const waitUs = this.#kernel.timeUntil(n, this.reading);
    const retryAtUs = this.#kernel.metLimit === 0 ? NO_INSTANT_US : this.reading.us + waitUs;
    return { retryAtUs, watch: watched };
  }

  /** @internal */
  countWait(n: number, isTaken: boolean): void {
    this.#kernel.countWait(n, isTaken);
  }

  /** @internal */
  receipt(): Receipt {
    return this.#kernel.receipt();
  }

  /** @internal */
  giveBack(n: number, receipt: Receipt): void {
    if (!this.#kernel.cancel(receipt)) this.putBack(n);
  }

  /** Puts back tokens and wakes waiting callers. @internal */
  protected putBack(n: number): number {
    const returned = this.#kernel.returnTokens(checkWhole(n), this.reading);
    if (returned > 0) announce(this);
    return returned;
  }

  /** Takes as many tokens as are available, up to `n`, and returns their number. */
  consumeOrDrain(n: number): number {
    const taken = this.#kernel.drain(checkWhole(n), this.reading);
    if (taken < n) refused(this, n - taken);
    return taken;
  }

  /** Takes `n` tokens now or none, and reports the state of the limiter. */
  decide(n = 1): Decision {
    const decision = decisionOf(this.#kernel.decide(checkWhole(n), this.reading));
    if (!decision.allowed) refused(this, n);
    return decision;
  }

  /** Returns the tokens that can be taken now. */
  available(): number {
    return this.#kernel.available(this.reading);
  }

  /**
   * Returns the milliseconds until `tokens` can be taken if no one else takes any: 0 if they can
   * now, Infinity if they never can.
   */
  timeUntil(tokens: number): number {
    return this.#kernel.timeUntil(checkWhole(tokens, 'tokens'), this.reading) / 1000;
  }

  /**
   * Waits until `n` tokens are available, and takes them. The callers of one object form a line and
   * are served in order: only the head tries, when it can succeed at the earliest or when the limit
   * changes. While the limit is 0, they wait for a change. Other threads, `tryConsume` and
   * `waitSync` do not join the line, so they may be faster. The wait keeps the event loop alive. An
   * abort takes nothing.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT` after `timeoutMs`, or as soon as the wait would
   * exceed it under the current limit, so at once if that is 0; `ERR_EXCEEDS_BURST` if `n` exceeds
   * a limit above 0, now or after a change; `ERR_QUEUE_FULL` if `maxWaiting` callers are in the
   * line. In each case nothing is taken.
   */
  async wait(n = 1, options: WaitOptions = {}): Promise<Waited> {
    return this.#line.wait(checkWhole(n), checkWait(options));
  }

  /** Number of callers waiting in `wait` on this object. Other threads have lines of their own. */
  get waiting(): number {
    return this.#line.length;
  }

  /**
   * Blocks the thread until `n` tokens are available, takes them and returns true. Returns false,
   * taking nothing, as soon as the wait would exceed `timeoutMs` under the current limit. It
   * competes with callers of {@link wait}; those of its own thread are not served while it blocks.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if `n` exceeds a limit above 0.
   */
  waitSync(n = 1, options: BlockingWaitOptions = {}): boolean {
    return waitHere(this, checkWhole(n), checkWait(options, BLOCKING_WAIT));
  }

  /**
   * Returns counts over all threads since the limiter's creation, and the callers waiting on this
   * object.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if it was created without `stats: true`.
   */
  stats(): LimiterStats {
    return statsOf(this.#kernel, this.waiting);
  }
}
