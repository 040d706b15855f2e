import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram,
} from 'hdr-histogram-js';
import { addErrors, type DriveError, kindAmong } from './errors.ts';
import { HIGHEST_US, LatencyCounts, type ValueCounts } from './latency-counts.ts';
import { LatencyTimeline } from './latency-timeline.ts';
import { type SlotRecord, Timeline } from './timeline.ts';

/** How calls ended. */
export interface CallCounts {
  /** Calls made. */
  readonly sent: number;
  /** Calls that returned or resolved; for a target, responses with a status below 400. */
  readonly succeeded: number;
  /** Calls that threw, rejected, timed out or never started; other responses and errors. */
  readonly failed: number;
}

/** The counts of a thread while it runs. */
export type RunningCounts = { -readonly [Name in keyof CallCounts]: CallCounts[Name] };

/** The sum of counts; those of a thread may be unknown. */
export function totalOf(counts: Iterable<CallCounts | undefined>): RunningCounts {
  const total = { sent: 0, succeeded: 0, failed: 0 };
  for (const { sent, succeeded, failed } of [...counts].filter((one) => one !== undefined)) {
    total.sent += sent;
    total.succeeded += succeeded;
    total.failed += failed;
  }
  return total;
}

/** The phases of a request, each with its own histogram. */
const SPANS = ['latency', 'clientLag', 'queued', 'response'] as const;

/** An object with a value for each span. */
export function everySpan<T>(of: (span: Span) => T): Record<Span, T> {
  return Object.fromEntries(SPANS.map((span) => [span, of(span)])) as Record<Span, T>;
}

/**
 * - `latency`: from the due instant to the end of the response
 * - `clientLag`: from the due instant until this client noticed it
 * - `queued`: from then until a connection was free
 * - `response`: from sending to the end of the response
 */
export type Span = (typeof SPANS)[number];

/** A {@link Tally} as plain data for another thread. */
export interface TallyRecord {
  readonly counters: CallCounts;
  readonly statusCodes: ReadonlyMap<number, number>;
  /** By kind. */
  readonly errors: ReadonlyMap<string, DriveError>;
  /** Histograms of microseconds, in HdrHistogram's compressed encoding. */
  readonly histograms: Readonly<Record<Span, string>>;
  readonly latencyByTime: SlotRecord<ValueCounts>;
  readonly blocked: BlockedCalls;
  /** By error kind or status. */
  readonly failuresByTime: readonly (readonly [kind: string, failures: SlotRecord<number>])[];
}

const BLOCKED_US = 100_000;

/** The calls that blocked their thread for 0.1 s or more. */
export interface BlockedCalls {
  calls: number;
  longestUs: number;
}

/** The unit of the times of a tally. Calls as fast as possible may take less than a microsecond. */
export type TimeUnit = 'us' | 'ns';
const PER_US = { us: 1, ns: 1_000 } as const;

function emptyHistogram(unit: TimeUnit): Histogram {
  return build({
    bitBucketSize: 32,
    autoResize: false,
    lowestDiscernibleValue: 1,
    highestTrackableValue: HIGHEST_US * PER_US[unit],
    numberOfSignificantValueDigits: 3,
  });
}

/** The outcomes of requests in one thread or, after {@link Tally.add}, in several. */
export class Tally {
  readonly counters: RunningCounts = { sent: 0, succeeded: 0, failed: 0 };
  readonly statusCodes = new Map<number, number>();
  readonly errors = new Map<string, DriveError>();
  readonly blocked: BlockedCalls = { calls: 0, longestUs: 0 };
  readonly histograms: Readonly<Record<Span, Histogram>>;
  readonly unit: TimeUnit;

  /** Empty without a start instant. */
  readonly latencyByTime = new LatencyTimeline();
  /** Failures by error kind or status; empty without a start instant. */
  readonly failuresByTime = new Map<string, Timeline>();
  /** Latencies since the last report, for the live line. */
  readonly recent = new LatencyCounts();
  readonly #startUs: number | undefined;

  /** @param startUs the start of the run; enables recording over time */
  constructor(startUs?: number, unit: TimeUnit = 'us') {
    this.#startUs = startUs;
    this.unit = unit;
    this.histograms = everySpan(() => emptyHistogram(unit));
  }

  /** Records the latency of a request that was due at `dueUs`. */
  recordLatency(dueUs: number, us: number): void {
    this.record('latency', us);
    this.recent.record(us);
    if (this.#startUs !== undefined) this.latencyByTime.record(dueUs - this.#startUs, us);
  }

  /** Records a time, or the mean of this many. */
  record(span: Span, us: number, count = 1): void {
    const value = Math.min(Math.max(0, us), HIGHEST_US) * PER_US[this.unit];
    this.histograms[span].recordValueWithCount(Math.round(value), count);
  }

  /** @param dueUs when the request was due, for failures over time */
  countStatus(status: number, dueUs?: number): void {
    this.statusCodes.set(status, (this.statusCodes.get(status) ?? 0) + 1);
    if (status < 400) {
      this.counters.succeeded += 1;
      return;
    }
    this.counters.failed += 1;
    this.#recordFailure(String(status), dueUs);
  }

  /** Counts a call that blocked its thread for this long, if that was long. */
  countBlocked(us: number): void {
    if (us < BLOCKED_US) return;
    this.blocked.calls += 1;
    this.blocked.longestUs = Math.max(this.blocked.longestUs, us);
  }

  /** @param dueUs when the request was due, for failures over time */
  countError(kind: string, example: string, dueUs?: number): void {
    addErrors(this.errors, { kind, count: 1, example });
    this.counters.failed += 1;
    this.#recordFailure(kind, dueUs);
  }

  #recordFailure(kind: string, dueUs: number | undefined): void {
    if (this.#startUs === undefined || dueUs === undefined) return;
    this.#failuresOf(kind).add(Math.max(0, dueUs - this.#startUs));
  }

  #failuresOf(kind: string): Timeline {
    const name = kindAmong(this.failuresByTime, kind);
    const known = this.failuresByTime.get(name);
    if (known !== undefined) return known;
    const failures = new Timeline();
    this.failuresByTime.set(name, failures);
    return failures;
  }

  toRecord(): TallyRecord {
    return {
      counters: this.counters,
      statusCodes: this.statusCodes,
      errors: this.errors,
      histograms: everySpan((span) => encodeIntoCompressedBase64(this.histograms[span])),
      latencyByTime: this.latencyByTime.toRecord(),
      blocked: this.blocked,
      failuresByTime: [...this.failuresByTime].map(([kind, one]) => [kind, one.toRecord()]),
    };
  }

  addCounts(counts: CallCounts): void {
    Object.assign(this.counters, totalOf([this.counters, counts]));
  }

  add(record: TallyRecord): void {
    this.latencyByTime.addAll(record.latencyByTime);
    for (const [kind, failures] of record.failuresByTime) this.#failuresOf(kind).addAll(failures);
    this.addCounts(record.counters);
    for (const [status, count] of record.statusCodes) {
      this.statusCodes.set(status, (this.statusCodes.get(status) ?? 0) + count);
    }
    for (const error of record.errors.values()) addErrors(this.errors, error);
    this.blocked.calls += record.blocked.calls;
    this.blocked.longestUs = Math.max(this.blocked.longestUs, record.blocked.longestUs);
    for (const span of SPANS) {
      this.histograms[span].add(decodeFromCompressedBase64(record.histograms[span]));
    }
  }
}
