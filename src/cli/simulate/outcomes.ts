import type { Int32Histogram } from 'hdr-histogram-js';
import { LatencyTimeline } from '../report/latency-timeline.ts';
import { Timeline } from '../report/timeline.ts';
import type { Bound } from './bounds.ts';

/** The outcomes of the calls; their memory does not grow with the number of calls. */
export class Outcomes {
  admittedAtOnce = 0;
  admittedLater = 0;
  refusedAtOnce = 0;
  /** Calls that waited and then were refused. */
  gaveUp = 0;
  readonly admissions = new Timeline();
  /** Waits of the admitted calls by arrival; empty if callers don't wait. */
  readonly waitsByTime: LatencyTimeline;
  readonly bounds: readonly Bound[];
  readonly #doesWait: boolean;

  /** @param waitMs how long callers wait at most */
  constructor(bounds: readonly Bound[], waitMs: number) {
    this.bounds = bounds;
    this.#doesWait = waitMs > 0;
    this.waitsByTime = new LatencyTimeline({ highestUs: waitMs * 1_000, digits: 3 });
  }

  /** Call this in order of `admittedUs`. */
  admit(arrivedUs: number, admittedUs: number): void {
    this.admissions.add(admittedUs);
    for (const bound of this.bounds) bound.add(admittedUs);
    const waitUs = admittedUs - arrivedUs;
    if (waitUs > 0) this.admittedLater += 1;
    else this.admittedAtOnce += 1;
    if (this.#doesWait) this.waitsByTime.record(arrivedUs, waitUs);
  }

  /** Waits of the admitted calls, in microseconds. */
  get waits(): Int32Histogram {
    return this.waitsByTime.total();
  }

  refuse(): void {
    this.refusedAtOnce += 1;
  }

  giveUp(): void {
    this.gaveUp += 1;
  }
}
