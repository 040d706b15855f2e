import type { Receipt } from '../kernel/bucket/kernel.ts';
import type { Key } from '../kernel/keyed/hash.ts';
import type { KeyedKernel } from '../kernel/keyed/kernel.ts';
import type { Bell } from '../memory/bell.ts';
import { checkNumber } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import { type KeyedTable, type TierOptions, tierOf, withoutTier } from './keyed-table.ts';
import type { BlockingWaitOptions, Part, Takeback, Waited, WaitOptions } from './limiter.ts';
import { type KeyLines, Line } from './line.ts';
import { type RefusedMessage, refused } from './refused.ts';
import { type Decision, Described, type Description, decisionOf } from './state.ts';
import { checkWait, type Source, waitHere, watch } from './waiting.ts';
import { checkWhole } from './window.ts';

/**
 * The fixed window of one key of a `KeyedFixedWindow`. `whenFull` decides about a key that finds no
 * place in the table. `n` is an integer and defaults to 1; 0 is always admitted.
 */
export class KeyWindow extends Described implements Part {
  /** The clock, the same one for all threads of this limiter. */
  readonly clock: Clock;
  /** Rings when the limits of the table change. @internal */
  readonly changes: Bell;
  readonly #table: KeyedTable;
  readonly #lines: KeyLines;
  readonly #source: Source;
  #high = 0;
  #low = 0;
  /** 0 for the table's own limit, otherwise the number of a tier. */
  #tier = 0;
  #key: Key = '';

  /** @internal */
  constructor(table: KeyedTable, lines: KeyLines) {
    super();
    const { clock, changes } = table;
    this.clock = clock;
    this.changes = changes;
    this.#table = table;
    this.#lines = lines;
    const limit = () => this.limit;
    this.#source = {
      limiter: this,
      get limit() {
        return limit();
      },
      attempt: (n) => {
        const watched = watch(changes);
        const nowUs = clock.now();
        const { allowed, retryUs } = this.#seek().decide(nowUs, n);
        return allowed ? undefined : { retryAtUs: nowUs + retryUs, watch: watched };
      },
      look: (n) => {
        const watched = watch(changes);
        const nowUs = clock.now();
        return { retryAtUs: nowUs + this.#seek().timeUntil(nowUs, n), watch: watched };
      },
    };
  }

  /** Points this object at the key with this hash, under one of the table's limits. @internal */
  turn(high: number, low: number, tier: number, key: Key): this {
    this.#high = high;
    this.#low = low;
    this.#tier = tier;
    this.#key = key;
    return this;
  }

  /** All keys of a thread share one kernel, so it must find this key's entry first. */
  #seek(): KeyedKernel {
    const { kernel } = this.#table;
    kernel.seek(this.#high, this.#low, this.#tier);
    return kernel;
  }

  /** @internal */
  protected describe(): Description {
    const { limit, intervalMs } = this;
    return ['KeyWindow', { limit, intervalMs, tokens: this.available() }];
  }

  /** The largest number of tokens that a window admits. */
  get limit(): number {
    return this.#seek().schedule().burst;
  }

  /** Length of the window in milliseconds. */
  get intervalMs(): number {
    return this.#seek().schedule().pace / 1000;
  }

  /** @internal */
  get takeback(): Takeback {
    return 'current';
  }

  /** @internal */
  refusal(): Partial<RefusedMessage> {
    return { limiter: this.#table.limiter, key: this.#key };
  }

  /** @internal */
  get identity(): string {
    return `${this.#table.identity}:${this.#high}:${this.#low}:${this.#tier}`;
  }

  /** @internal */
  take(n: number, nowUs: number = this.clock.now()): boolean {
    return this.#seek().acquire(nowUs, n, 0) === 0;
  }

  /** @internal */
  receipt(): Receipt {
    return this.#table.kernel.receipt();
  }

  /** @internal */
  giveBack(_n: number, receipt: Receipt): boolean {
    return this.#table.kernel.cancel(receipt);
  }

  /** Takes `n` tokens now, or none. */
  tryConsume(n = 1): boolean {
    checkWhole(n);
    return this.#seek().acquire(this.clock.now(), n, 0) === 0 || refused(this, n);
  }

  /** Takes as many tokens as are available, up to `n`, and returns their number. */
  consumeOrDrain(n: number): number {
    checkWhole(n);
    const taken = this.#seek().drain(this.clock.now(), n);
    if (taken < n) refused(this, n - taken);
    return taken;
  }

  /** Takes `n` tokens now or none, and reports the state of the key's window. */
  decide(n = 1): Decision {
    checkWhole(n);
    const decision = decisionOf(this.#seek().decide(this.clock.now(), n));
    if (!decision.allowed) refused(this, n);
    return decision;
  }

  /** Returns the tokens that can be taken now. */
  available(): number {
    return Math.max(0, this.#seek().balance(this.clock.now()));
  }

  /**
   * Returns the milliseconds until `tokens` can be taken if no one else takes any: 0 if they can
   * now, Infinity if they never can.
   */
  timeUntil(tokens: number): number {
    checkWhole(tokens);
    return this.#seek().timeUntil(this.clock.now(), tokens) / 1000;
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
    const newLine = () => new Line(this.clock, this.#source);
    return this.#lines.wait(this.identity, newLine, checkWhole(n), checkWait(options));
  }

  /** Number of callers waiting for this key and tier in `wait`, on the same table object. */
  get waiting(): number {
    return this.#lines.countOf(this.identity);
  }

  /**
   * Blocks the thread until `n` tokens are available, takes them and returns true. Returns false,
   * taking nothing, as soon as the wait would exceed `timeoutMs`. Callers of `wait` in this thread
   * cannot be served while it blocks.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if `n` exceeds the limit.
   */
  waitSync(n = 1, options: BlockingWaitOptions = {}): boolean {
    return waitHere(this.clock, this.#source, checkWhole(n), checkWait(options));
  }

  /**
   * Takes `n` tokens even if the window has fewer left: the rest comes from later windows. Returns
   * the milliseconds until the key is out of debt: 0 if this window had enough.
   *
   * @throws RangeError, TypeError if `n` is not an integer >= 0, or if the debt would take more than
   * 4.4 years to pay.
   */
  charge(n: number): number {
    checkWhole(n);
    const waitUs = this.#seek().charge(this.clock.now(), n);
    if (waitUs >= 0) return waitUs / 1000;
    throw new RangeError(`n must leave a debt of at most 4.4 years, got ${n}`);
  }

  /**
   * Refuses this key for `ms` milliseconds and then until the next window starts. Never shortens a
   * longer debt; {@link reset} ends a block or debt. Returns false, and does nothing, if the key
   * finds no place in the table.
   *
   * @throws RangeError, TypeError if `ms` is not from 0 to 1e11 (3.2 years).
   */
  block(ms: number): boolean {
    checkNumber('ms', ms, { min: 0, max: 1e11 });
    return this.#seek().block(this.clock.now(), ms * 1000);
  }

  /**
   * Resets this key's count, which ends a block or debt. Has no effect on a key without a place in
   * the table.
   */
  reset(): void {
    this.#seek().reset(this.clock.now());
  }
}

/** The methods of a window with the key as first argument, forwarded to that key's window. */
export abstract class KeyedWindowCalls extends Described {
  /** The window of one key, valid for one call. @internal */
  protected abstract of(key: Key, options?: TierOptions): KeyWindow;

  /** Returns the window of one key as a limiter. */
  abstract for(key: Key, options?: TierOptions): KeyWindow;

  /** Takes `n` tokens now, or none. */
  tryConsume(key: Key, n?: number, options?: TierOptions): boolean {
    return this.of(key, options).tryConsume(n);
  }

  /** Takes as many tokens as are available, up to `n`, and returns their number. */
  consumeOrDrain(key: Key, n: number, options?: TierOptions): number {
    return this.of(key, options).consumeOrDrain(n);
  }

  /** Takes `n` tokens now or none, and reports the state of the key's window. */
  decide(key: Key, n?: number, options?: TierOptions): Decision {
    return this.of(key, options).decide(n);
  }

  /** Returns the tokens that can be taken now. */
  available(key: Key, options?: TierOptions): number {
    return this.of(key, options).available();
  }

  /**
   * Returns the milliseconds until `tokens` can be taken if no one else takes any: 0 if they can
   * now, Infinity if they never can.
   */
  timeUntil(key: Key, tokens: number, options?: TierOptions): number {
    return this.of(key, options).timeUntil(tokens);
  }

  /** Waits until `n` tokens are available, and takes them: see {@link KeyWindow.wait}. */
  async wait(key: Key, n?: number, options?: WaitOptions & TierOptions): Promise<Waited> {
    // The line tries again later, when the shared object may be turned to another key.
    return this.for(key, tierOf(options)).wait(n, withoutTier<WaitOptions>(options));
  }

  /** Blocks until `n` tokens are available, and takes them: see {@link KeyWindow.waitSync}. */
  waitSync(key: Key, n?: number, options?: BlockingWaitOptions & TierOptions): boolean {
    return this.of(key, tierOf(options)).waitSync(n, withoutTier<BlockingWaitOptions>(options));
  }

  /** Takes `n` tokens, into debt if necessary: see {@link KeyWindow.charge}. */
  charge(key: Key, n: number, options?: TierOptions): number {
    return this.of(key, options).charge(n);
  }

  /** Refuses a key for `ms` milliseconds: see {@link KeyWindow.block}. */
  block(key: Key, ms: number): boolean {
    return this.of(key).block(ms);
  }

  /** Resets the count of a key, which ends a block or debt: see {@link KeyWindow.reset}. */
  reset(key: Key): void {
    this.of(key).reset();
  }
}
