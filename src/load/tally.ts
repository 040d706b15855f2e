import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram,
} from 'hdr-histogram-js';
import { addErrors, type ErrorCount } from './error-counts.ts';
import type { ErrorKind } from './error-kind.ts';
import { LatencyTimeline, type LatencyTimelineRecord } from './latency-timeline.ts';

/** The phases of a request, each with its own histogram. */
export const SPANS = ['latency', 'clientLag', 'queued', 'response'] as const;

/**
 * - `latency`: from the reservation's instant to the end of the response
 * - `clientLag`: from that instant until this client noticed it
 * - `queued`: from then until a connection was free
 * - `response`: from sending to the end of the response
 */
export type Span = (typeof SPANS)[number];

/** The counts that change while a thread runs. */
export interface RequestCounts {
  sent: number;
  /** Responses with a status below 400. */
  succeeded: number;
  /** Other responses, and errors. */
  failed: number;
}

/** A {@link Tally} as plain data for another thread. */
export interface TallyRecord {
  readonly counters: RequestCounts;
  readonly statusCodes: readonly (readonly [status: number, count: number])[];
  readonly errors: readonly ErrorCount[];
  /** Histograms of microseconds in HdrHistogram's compressed encoding. */
  readonly histograms: Readonly<Record<Span, string>>;
  readonly latencyByTime: LatencyTimelineRecord;
  readonly blocked: BlockedCalls;
}

/** The calls that kept their thread from all else for long. */
export interface BlockedCalls {
  calls: number;
  longestUs: number;
}

/** One hour: requests wait no longer than a run, and higher values are clamped. */
const HIGHEST_US = 3.6e9;

function emptyHistogram(): Histogram {
  return build({
    bitBucketSize: 32,
    autoResize: false,
    lowestDiscernibleValue: 1,
    highestTrackableValue: HIGHEST_US,
    numberOfSignificantValueDigits: 3,
  });
}

/** The outcomes of requests, of one thread or, after {@link Tally.add}, of several. */
export class Tally {
  readonly counters: RequestCounts = { sent: 0, succeeded: 0, failed: 0 };
  readonly statusCodes = new Map<number, number>();
  readonly errors = new Map<ErrorKind, ErrorCount>();
  readonly blocked: BlockedCalls = { calls: 0, longestUs: 0 };
  readonly histograms: Readonly<Record<Span, Histogram>> = {
    latency: emptyHistogram(),
    clientLag: emptyHistogram(),
    queued: emptyHistogram(),
    response: emptyHistogram(),
  };

  /** Stays empty without a start instant. */
  readonly latencyByTime = new LatencyTimeline();
  readonly #startUs: number | undefined;

  /** @param startUs the start of the run, if latencies are to be recorded by time */
  constructor(startUs?: number) {
    this.#startUs = startUs;
  }

  /** Records the latency of a request that was due at `dueUs`. */
  recordLatency(dueUs: number, us: number): void {
    this.record('latency', us);
    if (this.#startUs !== undefined) this.latencyByTime.record(dueUs - this.#startUs, us);
  }

  record(span: Span, us: number): void {
    this.histograms[span].recordValue(Math.min(Math.max(0, Math.round(us)), HIGHEST_US));
  }

  countStatus(status: number): void {
    this.statusCodes.set(status, (this.statusCodes.get(status) ?? 0) + 1);
    if (status < 400) this.counters.succeeded += 1;
    else this.counters.failed += 1;
  }

  /** Counts a call that kept its thread from all else for this long. */
  countBlocked(us: number): void {
    this.blocked.calls += 1;
    this.blocked.longestUs = Math.max(this.blocked.longestUs, us);
  }

  countError(kind: ErrorKind, example: string): void {
    addErrors(this.errors, { kind, count: 1, example });
    this.counters.failed += 1;
  }

  toRecord(): TallyRecord {
    const { latency, clientLag, queued, response } = this.histograms;
    return {
      counters: this.counters,
      statusCodes: [...this.statusCodes],
      errors: [...this.errors.values()],
      histograms: {
        latency: encodeIntoCompressedBase64(latency),
        clientLag: encodeIntoCompressedBase64(clientLag),
        queued: encodeIntoCompressedBase64(queued),
        response: encodeIntoCompressedBase64(response),
      },
      latencyByTime: this.latencyByTime.toRecord(),
      blocked: this.blocked,
    };
  }

  add(record: TallyRecord): void {
    this.latencyByTime.add(record.latencyByTime);
    this.counters.sent += record.counters.sent;
    this.counters.succeeded += record.counters.succeeded;
    this.counters.failed += record.counters.failed;
    for (const [status, count] of record.statusCodes) {
      this.statusCodes.set(status, (this.statusCodes.get(status) ?? 0) + count);
    }
    for (const error of record.errors) addErrors(this.errors, error);
    this.blocked.calls += record.blocked.calls;
    this.blocked.longestUs = Math.max(this.blocked.longestUs, record.blocked.longestUs);
    for (const span of SPANS) {
      this.histograms[span].add(decodeFromCompressedBase64(record.histograms[span]));
    }
  }
}
