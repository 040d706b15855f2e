import { Int32Histogram } from 'hdr-histogram-js';
import { LatencyTimeline } from '../report/latency-timeline.ts';
import { Timeline } from '../report/timeline.ts';
import type { Bound } from './bounds.ts';

/** A day, the longest wait that can be asked for, in microseconds. */
const HIGHEST_US = 8.64e10;

/** What became of the calls, in memory that does not grow with them. */
export class Outcomes {
  admittedAtOnce = 0;
  admittedLater = 0;
  refusedAtOnce = 0;
  /** Waited, and were refused then. */
  gaveUp = 0;
  readonly admissions = new Timeline();
  /** Waits of those admitted, in microseconds: nothing of them where nobody waits. */
  readonly waits = new Int32Histogram(1, HIGHEST_US, 3);
  readonly waitsByTime = new LatencyTimeline();
  readonly bounds: readonly Bound[];
  readonly #doesWait: boolean;

  constructor(bounds: readonly Bound[], doesWait: boolean) {
    this.bounds = bounds;
    this.#doesWait = doesWait;
  }

  /** To be called in the order of the instants admitted. */
  admit(arrivedUs: number, admittedUs: number): void {
    this.admissions.add(admittedUs);
    for (const bound of this.bounds) bound.add(admittedUs);
    const waitUs = admittedUs - arrivedUs;
    if (waitUs > 0) this.admittedLater += 1;
    else this.admittedAtOnce += 1;
    if (!this.#doesWait) return;
    this.waits.recordValue(Math.min(Math.round(waitUs), HIGHEST_US));
    this.waitsByTime.record(arrivedUs, waitUs);
  }

  refuse(): void {
    this.refusedAtOnce += 1;
  }

  giveUp(): void {
    this.gaveUp += 1;
  }
}
