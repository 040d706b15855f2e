import { changesOf } from '../kernel/bucket/cell.ts';
import { openBucket } from '../kernel/bucket/host.ts';
import type { BucketKernel, LimiterStats } from '../kernel/bucket/kernel.ts';
import { Position } from '../kernel/bucket/position.ts';
import type { Schedule } from '../kernel/bucket/schedule.ts';
import type { Bell } from '../memory/bell.ts';
import type { CellPlace } from '../memory/cell.ts';
import type { KernelName } from '../memory/handle.ts';
import type { CellKind } from '../memory/layout.ts';
import type { SleepOptions } from '../time/clock.ts';
import { BucketCalls } from './bucket-calls.ts';
import { sleepUntilDue, sleepUntilDueSync } from './moving-sleep.ts';
import { handleOf, type LimiterHandle, type OpenLimiter } from './opening.ts';
import { Reservation } from './reservation.ts';
import { statsOf } from './stats.ts';

/** The base of token bucket and leaky bucket, which differ only in how the limit is expressed. */
export abstract class Bucket<Kind extends CellKind> extends BucketCalls {
  /** @internal */
  protected readonly kernel: BucketKernel;
  readonly #opened: OpenLimiter<Kind>;
  /** @internal */
  readonly changes: Bell;

  protected constructor(opened: OpenLimiter<Kind>) {
    super(opened.clock);
    this.#opened = opened;
    this.kernel = openBucket(opened.cell, opened.kernel);
    this.changes = changesOf(opened.cell);
  }

  /** @internal */
  protected seek(): BucketKernel {
    return this.kernel;
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
   * Returns counts over all threads since the limiter was created.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if it was created without `stats: true`.
   */
  stats(): LimiterStats {
    return statsOf(this.kernel);
  }

  /** The current limit. @internal */
  protected get schedule(): Schedule {
    return this.kernel.schedule();
  }

  /** The bucket's place in memory. @internal */
  protected get place(): CellPlace {
    return this.#opened.cell;
  }

  /** Changes the limit. @internal */
  protected replaceSchedule(next: Schedule): void {
    this.kernel.reconfigure(this.clock.now(), next);
    this.changes.ring();
    this.clock.rouse?.();
  }

  /** @internal */
  protected override reservation(nowUs: number, waitUs: number): Reservation {
    const kernel = this.kernel;
    const receipt = kernel.receipt();
    const position = waitUs > 0 ? new Position(this.place, receipt, nowUs + waitUs) : undefined;
    return new Reservation(kernel, receipt, nowUs, waitUs, position);
  }

  /** @internal */
  protected override sleepUntilDue(
    reservation: Reservation,
    deadlineUs: number,
    options: SleepOptions,
  ): Promise<boolean> {
    return sleepUntilDue(this.clock, this.changes, reservation, deadlineUs, options);
  }

  /** @internal */
  protected override sleepUntilDueSync(
    reservation: Reservation,
    deadlineUs: number,
    options: Pick<SleepOptions, 'strict'>,
  ): boolean {
    return sleepUntilDueSync(this.clock, this.changes, reservation, deadlineUs, options);
  }
}
