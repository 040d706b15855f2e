import { Int32Histogram } from 'hdr-histogram-js';
import { HIGHEST_US, LatencyTimeline } from '../load/measure/latency-timeline.ts';
import { Timeline } from '../load/measure/timeline.ts';
import type { Bound } from './bounds.ts';
import { LatestByTime } from './latest-by-time.ts';

/** The outcomes of the calls, in constant memory. */
export class Outcomes {
  admittedAtOnce = 0;
  admittedLater = 0;
  refusedAtOnce = 0;
  /** Calls that waited in vain. */
  gaveUp = 0;
  readonly admissions = new Timeline();
  /** Waits of admitted calls by arrival time; empty if callers don't wait. */
  readonly waitsByTime: LatencyTimeline;
  readonly bounds: readonly Bound[];
  /** Response times in microseconds; empty without a server. */
  readonly responses = new Int32Histogram(1, HIGHEST_US, 3);
  /** Responses by the time at which they arrive; empty without a server. */
  readonly responsesByTime = new LatencyTimeline();
  readonly goodput = new Timeline();
  /** The permits of the semaphore over time; undefined without one. */
  readonly permits: LatestByTime | undefined;
  /** Maximum number of calls in flight; 0 without a server. */
  mostInFlight = 0;
  #inFlight = 0;
  readonly #doesWait: boolean;

  /** @param waitMs maximum wait of callers */
  constructor(bounds: readonly Bound[], waitMs: number, permits?: number) {
    this.permits = permits === undefined ? undefined : new LatestByTime(permits);
    this.bounds = bounds;
    this.#doesWait = waitMs > 0;
    this.waitsByTime = new LatencyTimeline({ highestUs: waitMs * 1_000, digits: 3 });
  }

  /** Counts an admission. Call in order of `admittedUs`. */
  admit(arrivedUs: number, admittedUs: number): void {
    this.admissions.add(admittedUs);
    for (const bound of this.bounds) bound.add(admittedUs);
    const waitUs = admittedUs - arrivedUs;
    if (waitUs > 0) this.admittedLater += 1;
    else this.admittedAtOnce += 1;
    if (this.#doesWait) this.waitsByTime.record(arrivedUs, waitUs);
  }

  /** Counts an admitted call that begins at the server. */
  start(): void {
    this.#inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
  }

  /** Counts a response that arrives at an instant, `us` after the call began. */
  respond(atUs: number, us: number): void {
    this.responses.recordValue(Math.min(HIGHEST_US, Math.round(us)));
    this.responsesByTime.record(atUs, us);
    this.goodput.add(atUs);
    this.#inFlight -= 1;
    for (const bound of this.bounds) bound.end?.();
  }

  /** Waits of admitted calls, in microseconds. */
  get waits(): Int32Histogram {
    return this.waitsByTime.total();
  }
}
