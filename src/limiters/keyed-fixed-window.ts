import type { Receipt, TokenKernel } from '../kernel/bucket/kernel.ts';
import { perInterval, type Schedule } from '../kernel/bucket/schedule.ts';
import { openKeyed } from '../kernel/keyed/host.ts';
import { checkOptions, joined, type Known } from '../known-options.ts';
import type { SharedEvent } from '../memory/event.ts';
import { checkNumber } from '../options.ts';
import { KeyedLimiter } from './keyed-limiter.ts';
import {
  createTable,
  newLimits,
  TABLE_OPTIONS,
  type TableKey,
  type TableOptions,
  type TierOptions,
} from './keyed-table.ts';
import type { BlockingWaitOptions, Part, Takeback, Waited, WaitOptions } from './limiter.ts';
import { KeyLines } from './line.ts';
import {
  find,
  type LimiterHandle,
  type OpenLimiter,
  type OpenOptions,
  openByName,
  SHARED_OPTIONS,
} from './opening.ts';
import { type RefusedMessage, refused } from './refused.ts';
import type { Region } from './region.ts';
import type { Description } from './state.ts';
import { keyedFixedWindowTerms } from './terms.ts';
import { TokenCalls } from './token-calls.ts';
import { BLOCKING_WAIT, checkWait, type Refusal, type Source, waitHere, watch } from './waiting.ts';
import { checkWhole } from './window.ts';

/** The limit of a tier. */
export interface WindowLimit {
  /** Maximum number of tokens per key and window: an integer from 1 to 1,073,741,823. */
  readonly limit: number;
}

/** Options of {@link KeyedFixedWindow.create}. */
export interface KeyedFixedWindowOptions extends TableOptions, WindowLimit {
  /**
   * Other limits by name, 1 to 15; without any, omit it. A call that passes a name, of up to 64
   * characters, as its `tier` uses that limit. All tiers have windows of the same length.
   */
  readonly tiers?: Readonly<Record<string, WindowLimit>>;
  /**
   * Length of a window in milliseconds: 0.001 to 1e11 (3.2 years), fractions allowed; at most 1e9 for
   * each token of the smallest limit.
   */
  readonly intervalMs: number;
}

/** A change of a keyed fixed window's limits. Omitted fields and tiers keep their values. */
export interface KeyedWindowChange extends Partial<WindowLimit> {
  /** Changes of tiers, by name. */
  readonly tiers?: Readonly<Record<string, WindowLimit>>;
}

const MAX_LIMIT = 2 ** 30 - 1;

const KEYED_WINDOW_OPTIONS: Known<KeyedFixedWindowOptions> = /* @__PURE__ */ joined(
  SHARED_OPTIONS,
  TABLE_OPTIONS,
  {
    limit: true,
    intervalMs: true,
    tiers: true,
  },
);
const LIMIT: Known<WindowLimit> = { limit: true };
const CHANGE: Known<KeyedWindowChange> = /* @__PURE__ */ joined(LIMIT, { tiers: true });

/** Models a fixed window as a bucket that fills up at the start of each window. */
function scheduleOf(limit: unknown, intervalMs: unknown): Schedule {
  const tokens = checkNumber('limit', limit, { min: 1, max: MAX_LIMIT, integer: true });
  const ms = checkNumber('intervalMs', intervalMs, { min: 0.001, max: 1e11 });
  checkNumber('limit / intervalMs', tokens / ms, { min: 1e-9, max: 4e6 });
  return perInterval(tokens, ms, tokens);
}

const KIND = 'keyed-fixed-window';

/**
 * The fixed window of one key of a `KeyedFixedWindow`. `whenFull` decides about a key that finds no
 * entry in the table. `n` is an integer and defaults to 1; 0 is always admitted.
 */
export class KeyWindow extends TokenCalls implements Part, Source {
  /** @internal */
  readonly at: TableKey;
  readonly #lines: KeyLines;

  /** @internal */
  constructor(at: TableKey, lines: KeyLines) {
    super(at.table.clock);
    this.at = at;
    this.#lines = lines;
  }

  /** Fires when the limits of the table change. @internal */
  get changes(): SharedEvent {
    return this.at.table.changes;
  }

  /** @internal */
  attempt(n: number): boolean {
    return this.at.seek().retake(this.clock.now(), n);
  }

  /** @internal */
  countWait(n: number, isTaken: boolean): void {
    this.at.table.kernel.countWait(n, isTaken);
  }

  /** @internal */
  look(n: number): Refusal {
    const watched = watch(this.changes);
    const nowUs = this.clock.now();
    return { retryAtUs: nowUs + this.at.seek().timeUntil(nowUs, n), watch: watched };
  }

  /** @internal */
  protected override seek(): TokenKernel {
    return this.at.seek();
  }

  // Not inherited: engines optimize a call site less for each further class that runs it.
  override tryConsume(n = 1): boolean {
    checkWhole(n);
    return this.at.seek().acquire(this.clock.now(), n, 0) === 0 || refused(this, n);
  }

  /** @internal */
  protected override check(name: string, n: unknown): number {
    return checkWhole(n, name);
  }

  /** @internal */
  protected describe(): Description {
    const { limit, intervalMs } = this;
    return ['KeyWindow', { limit, intervalMs, tokens: this.available() }];
  }

  /** Length of the window in milliseconds. */
  get intervalMs(): number {
    return this.seek().schedule().pace / 1000;
  }

  /** @internal */
  get takeback(): Takeback {
    return 'current';
  }

  /** @internal */
  refusal(): Partial<RefusedMessage> {
    return this.at.refusal();
  }

  /** @internal */
  receipt(): Receipt {
    return this.at.table.kernel.receipt();
  }

  /** @internal */
  giveBack(_n: number, receipt: Receipt): void {
    this.at.table.kernel.cancel(receipt);
  }

  /**
   * Waits until `n` tokens are available, and takes them. Callers of one key and tier form a line
   * and are served in order: only the head tries, when the next window starts. Other threads,
   * `tryConsume` and `waitSync` do not join the line, so they may be faster. An abort takes
   * nothing.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT` after `timeoutMs`, or as soon as the wait would
   * exceed it; `ERR_EXCEEDS_BURST` if `n` exceeds the limit; `ERR_QUEUE_FULL` if `maxWaiting`
   * callers are in the line. In each case nothing is taken.
   */
  async wait(n = 1, options: WaitOptions = {}): Promise<Waited> {
    return this.#lines.wait(this.#line, this, checkWhole(n), checkWait(options));
  }

  /** Number of callers waiting for this key and tier in `wait`, on the same table object. */
  get waiting(): number {
    return this.#lines.countOf(this.#line);
  }

  /** The name of its line. */
  get #line(): string {
    return `${this.at.name}:${this.at.tier}`;
  }

  /**
   * Blocks the thread until `n` tokens are available, takes them and returns true. Returns false,
   * taking nothing, as soon as the wait would exceed `timeoutMs`. Callers of `wait` in this thread
   * cannot be served while it blocks.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if `n` exceeds the limit.
   */
  waitSync(n = 1, options: BlockingWaitOptions = {}): boolean {
    return waitHere(this, checkWhole(n), checkWait(options, BLOCKING_WAIT));
  }

  /**
   * Refuses this key for `ms` milliseconds and then until the next window starts, under every tier.
   * Never shortens a longer debt; {@link reset} ends a block or debt, and a larger limit shortens
   * it. Returns false, and does nothing, if the key finds no entry in the table.
   *
   * @throws RangeError, TypeError if `ms` is not from 0 to 1e11 (3.2 years).
   */
  block(ms: number): boolean {
    return this.at.block(ms);
  }

  /**
   * Resets this key's count, which ends a block or debt. Waiting callers try again at once. Has no
   * effect on a key without a count or an entry in the table.
   */
  reset(): void {
    this.at.reset();
  }
}

/**
 * Admits at most `limit` tokens of each key (a user, an address) per window of `intervalMs`. The
 * windows of all keys start together: when the table is created, and every `intervalMs` from then
 * on. Around the boundary of two windows, up to twice the limit can pass within one `intervalMs`; a
 * `KeyedTokenBucket` is smoother.
 *
 * The counts are in one table of fixed size that any number of threads share without a lock, as for
 * `KeyedTokenBucket`: an entry whose window is over can be reused for another key. Keys are strings,
 * numbers or bigints, and are equal as in a `Map`.
 *
 * @example
 * ```ts
 * const perUser = KeyedFixedWindow.create({ limit: 100, intervalMs: 60_000, capacity: 100_000 });
 * if (perUser.tryConsume(user)) serve();
 * ```
 *
 * Tiers give some keys another limit. A key has one count for all tiers.
 *
 * @example
 * ```ts
 * const perUser = KeyedFixedWindow.create({
 *   limit: 100,
 *   tiers: { pro: { limit: 5000 } },
 *   intervalMs: 60_000,
 *   capacity: 100_000,
 * });
 * perUser.tryConsume('ann', 1, { tier: 'pro' });
 * ```
 */
export class KeyedFixedWindow extends KeyedLimiter<typeof KIND, KeyWindow, TierOptions> {
  private constructor(opened: OpenLimiter<typeof KIND>) {
    const lines = new KeyLines();
    super(opened, openKeyed, lines, (at) => new KeyWindow(at, lines));
  }

  /**
   * Creates the table; the first window starts now. Without a `region`, a table of more than 470
   * keys gets its own region.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: KeyedFixedWindowOptions): KeyedFixedWindow {
    const given = checkOptions(options, KEYED_WINDOW_OPTIONS);
    const { intervalMs } = given;
    const make = ({ limit }: Partial<WindowLimit>) => scheduleOf(limit, intervalMs);
    const limits = newLimits<WindowLimit>(given, LIMIT, make);
    return new KeyedFixedWindow(createTable(KIND, limits, options));
  }

  /**
   * Opens the table named `name` in a region, or creates it. All threads, and all processes that
   * share the region, get the same one. Options as for {@link create}.
   *
   * @example
   * ```ts
   * const region = Region.create();
   * const perUser = KeyedFixedWindow.open(region, 'api', { limit: 10, intervalMs: 1000, capacity: 100 });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to another kind of limiter, or to
   * one with other options, unless `onMismatch` allows it.
   * @throws RangeError, TypeError, RateLimitError as {@link create} does.
   */
  static open(
    region: Region,
    name: string,
    options: OpenOptions<KeyedFixedWindowOptions>,
  ): KeyedFixedWindow {
    const maker = { ...keyedFixedWindowTerms, known: KEYED_WINDOW_OPTIONS, made: KeyedFixedWindow };
    return openByName(maker, region, name, options);
  }

  /**
   * Attaches this thread to the table behind a handle.
   *
   * @throws HandleError if `handle` is not a keyed fixed window's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<typeof KIND>): KeyedFixedWindow {
    return new KeyedFixedWindow(find(keyedFixedWindowTerms, handle));
  }

  /** The largest number of tokens that a window of one key admits. */
  get limit(): number {
    return this.table.kernel.schedules()[0].burst;
  }

  /** The limits of the tiers by name; empty if there are none. */
  get tiers(): Readonly<Record<string, WindowLimit>> {
    return this.table.limitsOfTiers(({ burst }) => ({ limit: burst }));
  }

  /**
   * Changes the limits for all threads at once, without a lock: each call uses either the old
   * limits or the new ones, and every later call uses the new ones. Waiting callers ask again.
   *
   * What a key used in its window stays used: after 50 of 100, a raise to 200 leaves 150.
   *
   * @example
   * ```ts
   * const tiers = { pro: { limit: 1000 } };
   * const perUser = KeyedFixedWindow.create({ limit: 100, intervalMs: 1000, tiers, capacity: 10_000 });
   * perUser.reconfigure({ limit: 50, tiers: { pro: { limit: 10_000 } } });
   * ```
   * @throws RangeError, TypeError for an invalid option, naming it.
   */
  reconfigure(change: KeyedWindowChange): void {
    const given = checkOptions(change, CHANGE, 'change');
    this.table.changeLimits<WindowLimit>(given, LIMIT, (own, { burst, pace }) => {
      const { limit = burst } = own;
      return scheduleOf(limit, pace / 1000);
    });
  }

  /** Length of the window in milliseconds. */
  get intervalMs(): number {
    return this.table.kernel.schedules()[0].pace / 1000;
  }

  /** @internal */
  protected describe(): Description {
    const { limit, intervalMs } = this;
    return ['KeyedFixedWindow', { limit, intervalMs }];
  }
}
