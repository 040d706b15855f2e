import type { HostedSemaphore } from '../kernel/semaphore/host.ts';
import type { Clock } from '../time/clock.ts';
import type { AdaptReadings } from './adaptation.ts';
import { PermitKeeper } from './permit-keeper.ts';
import { PermitQueue } from './permit-queue.ts';
import { Described, type Description, type LimiterStats, statsOf } from './state.ts';

/** The properties of a semaphore, its permits and its callers. */
export abstract class SemaphoreReadings extends Described {
  /** The clock, the same one for all threads. */
  readonly clock: Clock;
  /** @internal */
  protected readonly kernel: HostedSemaphore;
  /** @internal */
  protected readonly queue: PermitQueue;
  /** @internal */
  protected readonly keeper: PermitKeeper;

  /** @internal */
  protected constructor(kernel: HostedSemaphore, clock: Clock) {
    super();
    this.clock = clock;
    this.kernel = kernel;
    this.queue = new PermitQueue(kernel, clock);
    this.keeper = new PermitKeeper(kernel, clock);
  }

  /** @internal */
  protected describe(): Description {
    const { permits, available } = this.kernel.look();
    const holdMs = this.kernel.holdMs || undefined;
    const adapt = this.adaptation?.rule;
    return ['Semaphore', { permits, inUse: permits - available, holdMs, adapt }];
  }

  /** The number of permits, in use or not. */
  get permits(): number {
    return this.kernel.look().permits;
  }

  /** The most permits that {@link reconfigure} can set. */
  get maxPermits(): number {
    return this.kernel.maxPermits;
  }

  /** What the semaphore has found, over all threads; undefined if its number is fixed. */
  get adaptation(): AdaptReadings | undefined {
    return this.keeper.adaptation?.readings();
  }

  /** The longest time in milliseconds that a permit may be held; Infinity if there is no bound. */
  get holdMs(): number {
    return this.kernel.holdMs || Number.POSITIVE_INFINITY;
  }

  /**
   * Returns the number of free permits; 0 while more are in use than {@link permits}, and while
   * 8,192 callers hold permits or wait, because one more cannot take any.
   */
  available(): number {
    this.keeper.expire();
    const available = Math.max(0, this.kernel.look().available);
    return available === 0 || this.kernel.hasRoom ? available : 0;
  }

  /** Returns the number of permits in use by all threads. */
  inUse(): number {
    this.keeper.expire();
    const { permits, available } = this.kernel.look();
    return permits - available;
  }

  /** Number of callers of all threads waiting in `acquire` or `acquireSync`. */
  get waiting(): number {
    return this.kernel.waiting + this.queue.outside;
  }

  /**
   * Returns counts over all threads since the semaphore's creation, and the callers now waiting. A
   * call counts once, when its wait ends: as admitted, or as refused if it got no permits.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if it was created without `stats: true`.
   */
  stats(): LimiterStats {
    return statsOf(this.kernel, this.waiting);
  }
}
