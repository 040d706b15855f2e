import { Int32Histogram } from 'hdr-histogram-js';
import { LONGEST_US } from '../load/measure/latency-counts.ts';
import { LatencyTimeline } from '../load/measure/latency-timeline.ts';
import { SlotValues, Timeline } from '../load/measure/timeline.ts';
import type { Bound } from './bounds.ts';

/** A value over time: the latest of each slot. */
export class LatestByTime extends SlotValues<number> {
  #latest: number;

  /** @param first the value at the start */
  constructor(first: number) {
    super();
    this.#latest = first;
  }

  protected dataOf(value: number): number {
    return value;
  }

  protected joined(_: number | undefined, later: number): number {
    return later;
  }

  /** Notes the value at an instant. Instants must be ascending. */
  set(atUs: number, value: number): void {
    const slot = this.slotAt(atUs);
    // Slots without a change keep the value before them.
    while (this.values.length < slot) this.values.push(this.#latest);
    this.values[slot] = value;
    this.#latest = value;
  }

  /** The end of each slot in seconds, and its value. */
  points(): readonly (readonly [endSeconds: number, value: number])[] {
    return Array.from(
      this.values,
      (value = 0, slot) => [((slot + 1) * this.slotUs) / 1e6, value] as const,
    );
  }
}

/** Times in microseconds. It grows with the longest, which no percentile exceeds. */
class TimesHistogram extends Int32Histogram {
  constructor() {
    super(1, 1_000_000, 3);
    this.autoResize = true;
  }

  /** Records a time. */
  record(us: number): void {
    this.recordValue(Math.min(Math.max(0, Math.round(us)), LONGEST_US));
  }

  override getValueAtPercentile(percentile: number): number {
    return Math.min(super.getValueAtPercentile(percentile), this.maxValue);
  }
}

/** The outcomes of the calls, in constant memory. */
export class Outcomes {
  admittedAtOnce = 0;
  admittedLater = 0;
  refusedAtOnce = 0;
  /** Calls that waited in vain. */
  gaveUp = 0;
  readonly admissions = new Timeline();
  /** Waits of admitted calls in microseconds; empty if callers don't wait. */
  readonly waits = new TimesHistogram();
  /** The same by arrival time. */
  readonly waitsByTime = new LatencyTimeline();
  readonly bounds: readonly Bound[];
  /** Response times in microseconds; empty without a server. */
  readonly responses = new TimesHistogram();
  /** Responses by the time at which they arrive; empty without a server. */
  readonly responsesByTime = new LatencyTimeline();
  readonly goodput = new Timeline();
  /** The permits of the semaphore over time; undefined without one. */
  readonly permits: LatestByTime | undefined;
  /** Maximum number of calls in flight; 0 without a server. */
  mostInFlight = 0;
  #inFlight = 0;
  readonly #longestUs: number;

  /** @param waitMs maximum wait of callers */
  constructor(bounds: readonly Bound[], waitMs: number, permits?: number) {
    this.permits = permits === undefined ? undefined : new LatestByTime(permits);
    this.bounds = bounds;
    this.#longestUs = Math.ceil(waitMs * 1_000);
  }

  /** Counts an admission. Call in order of `admittedUs`. */
  admit(arrivedUs: number, admittedUs: number): void {
    this.admissions.add(admittedUs);
    for (const bound of this.bounds) bound.add(admittedUs);
    const waitUs = admittedUs - arrivedUs;
    if (waitUs > 0) this.admittedLater += 1;
    else this.admittedAtOnce += 1;
    if (this.#longestUs === 0) return;
    this.waits.record(Math.min(waitUs, this.#longestUs));
    this.waitsByTime.record(arrivedUs, waitUs);
  }

  /** Counts an admitted call that begins at the server. */
  start(): void {
    this.#inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
  }

  /** Counts a response that arrives at an instant, `us` after the call began. */
  respond(atUs: number, us: number): void {
    this.responses.record(us);
    this.responsesByTime.record(atUs, us);
    this.goodput.add(atUs);
    this.#inFlight -= 1;
    for (const bound of this.bounds) bound.end();
  }
}
