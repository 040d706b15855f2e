import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram,
} from 'hdr-histogram-js';
import { LatencyTimeline, type LatencyTimelineRecord } from '../report/latency-timeline.ts';
import type { ErrorKind } from './error-kind.ts';

/** The spans of a request's life, each with a histogram of its own. */
export const SPANS = ['latency', 'clientLag', 'queued', 'response'] as const;

/**
 * - `latency`: from the instant that the reservation named to the end of the response
 * - `clientLag`: from that instant until this client got round to it
 * - `queued`: from then until a connection was free
 * - `response`: from sending to the end of the response
 */
export type Span = (typeof SPANS)[number];

/** How often an error occurred, and what the first of them said. */
export interface ErrorCount {
  readonly kind: ErrorKind;
  count: number;
  readonly example: string;
}

/** The numbers that change while a thread runs. */
export interface RequestCounts {
  sent: number;
  /** Responses with a status below 400. */
  succeeded: number;
  /** Other responses, and errors. */
  failed: number;
}

/** A {@link Tally} as plain data, to be sent to another thread. */
export interface TallyRecord {
  readonly counters: RequestCounts;
  readonly statusCodes: readonly (readonly [status: number, count: number])[];
  readonly errors: readonly ErrorCount[];
  /** Histograms of microseconds, in HdrHistogram's own compressed form. */
  readonly histograms: Readonly<Record<Span, string>>;
  readonly latencyByTime: LatencyTimelineRecord;
}

/** One hour: a request waits no longer than a run, and values are clamped in any case. */
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

/** What became of the requests: of one thread, or of several after {@link Tally.add}. */
export class Tally {
  readonly counters: RequestCounts = { sent: 0, succeeded: 0, failed: 0 };
  readonly statusCodes = new Map<number, number>();
  readonly errors = new Map<ErrorKind, ErrorCount>();
  readonly histograms: Readonly<Record<Span, Histogram>> = {
    latency: emptyHistogram(),
    clientLag: emptyHistogram(),
    queued: emptyHistogram(),
    response: emptyHistogram(),
  };

  /** Empty unless there is an instant to count from. */
  readonly latencyByTime = new LatencyTimeline();
  readonly #startUs: number | undefined;

  /** @param startUs the beginning of the run, if latencies are to be kept by time */
  constructor(startUs?: number) {
    this.#startUs = startUs;
  }

  /** Records the latency of a request that was due at this instant. */
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

  countError(kind: ErrorKind, example: string): void {
    this.#addErrors({ kind, count: 1, example });
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
    for (const error of record.errors) this.#addErrors(error);
    for (const span of SPANS) {
      this.histograms[span].add(decodeFromCompressedBase64(record.histograms[span]));
    }
  }

  #addErrors({ kind, count, example }: ErrorCount): void {
    const known = this.errors.get(kind);
    if (known === undefined) this.errors.set(kind, { kind, count, example });
    else known.count += count;
  }
}
