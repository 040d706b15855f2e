import type { Receipt, TokenKernel } from '../kernel/bucket/kernel.ts';
import type { SharedEvent } from '../memory/event.ts';
import type { TableKey } from './keyed-table.ts';
import type { BlockingWaitOptions, Part, Takeback, Waited, WaitOptions } from './limiter.ts';
import type { KeyLines } from './line.ts';
import { type RefusedMessage, refused } from './refused.ts';
import type { Description } from './state.ts';
import { TokenCalls } from './token-calls.ts';
import { checkWait, type Refusal, type Source, waitHere, watch } from './waiting.ts';
import { checkWhole } from './window.ts';

/**
 * The fixed window of one key of a `KeyedFixedWindow`. `whenFull` decides about a key that finds no
 * place in the table. `n` is an integer and defaults to 1; 0 is always admitted.
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
  attempt(n: number): Refusal | undefined {
    const watched = watch(this.changes);
    const nowUs = this.clock.now();
    const { allowed, retryUs } = this.at.seek().decide(nowUs, n);
    return allowed ? undefined : { retryAtUs: nowUs + retryUs, watch: watched };
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
  get identity(): string {
    return this.at.identity;
  }

  /** @internal */
  receipt(): Receipt {
    return this.at.table.kernel.receipt();
  }

  /** @internal */
  giveBack(_n: number, receipt: Receipt): boolean {
    return this.at.table.kernel.cancel(receipt);
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
    return this.#lines.wait(this.identity, this, checkWhole(n), checkWait(options));
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
    return waitHere(this, checkWhole(n), checkWait(options));
  }

  /**
   * Refuses this key for `ms` milliseconds and then until the next window starts, under every tier.
   * Never shortens a longer debt; {@link reset} ends a block or debt, and a larger limit shortens
   * it. Returns false, and does nothing, if the key finds no place in the table.
   *
   * @throws RangeError, TypeError if `ms` is not from 0 to 1e11 (3.2 years).
   */
  block(ms: number): boolean {
    return this.at.block(ms);
  }

  /**
   * Resets this key's count, which ends a block or debt. Has no effect on a key without a place in
   * the table.
   */
  reset(): void {
    this.at.reset();
  }
}
