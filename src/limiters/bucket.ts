import { RateLimitError } from '../errors.ts';
import { changesOf } from '../kernel/bucket/cell.ts';
import type { BucketKernel, Receipt } from '../kernel/bucket/kernel.ts';
import { type CellPlace, identityOf } from '../memory/cell.ts';
import type { SharedEvent } from '../memory/event.ts';
import type { KernelName } from '../memory/handle.ts';
import type { CellKind } from '../memory/layout.ts';
import { checkMade, checkTokens } from '../options.ts';
import type { SleepOptions } from '../time/clock.ts';
import { BucketCalls } from './bucket-calls.ts';
import type { Part } from './limiter.ts';
import { handleOf, type LimiterHandle, type OpenLimiter } from './opening.ts';
import { type Reservation, ReservationLine } from './reservation.ts';
import { type LimiterStats, statsOf } from './state.ts';
import { announce, Waiters } from './waiting.ts';

/** The base class of `TokenBucket`, `LeakyBucket` and `LimitSet`. */
export abstract class Bucket<Kind extends CellKind> extends BucketCalls {
  /** @internal */
  protected readonly kernel: BucketKernel;
  readonly #opened: OpenLimiter<Kind>;
  /** @internal */
  readonly changes: SharedEvent;
  /** @internal */
  protected readonly waiters = new Waiters();
  #line: ReservationLine | undefined;

  /** `open` selects the kernel: of one limit or of several. */
  protected constructor(
    opened: OpenLimiter<Kind>,
    open: (cell: CellPlace, asked: KernelName | undefined) => BucketKernel,
  ) {
    super(checkMade(new.target, opened, 'cell').clock);
    this.#opened = opened;
    this.kernel = open(opened.cell, opened.kernel);
    this.changes = changesOf(opened.cell);
  }

  /** @internal */
  protected seek(): BucketKernel {
    return this.kernel;
  }

  /** @internal */
  get at(): Part['at'] {
    return { identity: identityOf(this.#opened.cell) };
  }

  override returnTokens(n: number): void {
    checkTokens('n', n);
    this.kernel.returnTokens(this.clock.now(), n);
    if (n > 0) this.cancelled();
  }

  /** Callers of `allOf` are promised nothing that would move up, so they look again. @internal */
  override cancelled(): void {
    announce(this);
  }

  /** Exact in debt too, because waiting callers move up. @internal */
  override giveBack(n: number, receipt?: Receipt): void {
    if (receipt !== undefined && this.kernel.cancel(receipt)) return;
    try {
      // Announces only what moved: callers of `allOf` that give back would wake one another in turn.
      super.returnTokens(n);
    } catch (error) {
      // Another thread is moving callers up, so the tokens lapse.
      if (!(error instanceof RateLimitError)) throw error;
    }
  }

  /** Send this to another thread and pass it to `attach` there. */
  get handle(): LimiterHandle<Kind> {
    return handleOf(this.#opened);
  }

  /** The kernel that this thread uses. */
  get kernelName(): KernelName {
    return this.kernel.name;
  }

  /**
   * Returns counts over all threads since the limiter's creation, and the callers waiting on this
   * object.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if it was created without `stats: true`.
   */
  stats(): LimiterStats {
    return statsOf(this.kernel, this.waiting);
  }

  /** @internal */
  protected sleepUntilDue(
    reservation: Reservation,
    deadlineUs: number,
    options: SleepOptions,
  ): Promise<boolean> {
    this.#line ??= new ReservationLine(this.clock, this.changes);
    return this.#line.wait(reservation, deadlineUs, options);
  }
}
