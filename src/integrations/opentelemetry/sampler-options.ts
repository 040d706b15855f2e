import { type Attributes, type Context, diag, type SpanKind } from '@opentelemetry/api';
import { checkOptions, given, type Known } from '../../known-options.ts';
import { checkCapacity } from '../../limiters/keyed-table.ts';
import { scheduleOf } from '../../limiters/limit.ts';
import type { LimiterHandle } from '../../limiters/opening.ts';
import type { KernelName } from '../../memory/handle.ts';
import type { Region } from '../../memory/region.ts';
import { checkChoice, checkNumber, shown } from '../../options.ts';
import type { Clock } from '../../time/clock.ts';
import type { MinimaHandle, MinimumOptions, SpanLimit } from './minima.ts';

/** Options of {@link ConsistentRateLimitingSampler.create} that apply to all threads. */
export interface SamplerOptions {
  /** Maximum spans per second over all threads: 1e-6 to 4e9. */
  readonly rate: number;
  /**
   * Maximum spans at once, at least 2: any t seconds have at most burst + rate x t. With a small
   * burst, the limit refuses more spans, which are then missing from the counts. Default: `rate`,
   * at least 10.
   */
  readonly burst?: number;
  /**
   * Time constant of the smoothed arrival rate in milliseconds, from 100 to 86,400,000. Default
   * 1000.
   */
  readonly smoothingMs?: number;
  /**
   * Minimum spans per second of each operation, 1e-6 to 4e9, so that rare operations are kept, too.
   * Spans kept by probability count towards it. All minima together use at most half of `rate` and
   * of `burst`. Default: no minimum.
   */
  readonly minimum?: number;
  /**
   * Maximum spans that a minimum keeps at once, at least 1. Default: `minimum` x 10 s, at least 1.
   */
  readonly minimumBurst?: number;
  /**
   * Maximum number of operations with their own minimum, an integer from 1 to 67,000,000. Each
   * takes 32 bytes. Further operations share one minimum until idle ones make room. Default 1000.
   */
  readonly operations?: number;
  /** The clock. Default: the system's monotonic clock. */
  readonly clock?: Clock;
  /** The region to allocate in. Default: a new region. */
  readonly region?: Region;
  /** The kernel to use in all threads. Default: as for limiters. */
  readonly kernel?: KernelName;
}

/** A change of the limit. Omitted fields do not change. */
export type SamplerChange = Partial<
  Pick<SamplerOptions, 'rate' | 'burst' | 'minimum' | 'minimumBurst'>
>;

/** Attaches other threads to a sampler: a plain value for `workerData` or `postMessage`. */
export interface SamplerHandle {
  /** Always `sampler`. */
  readonly zerotime: 'sampler';
  /** The bucket of the limit. Its memory also holds the arrival rate. */
  readonly bucket: LimiterHandle<'token-bucket'>;
  /** Byte offset of the arrival rate's cell. */
  readonly offset: number;
  /** A copy of a random number in that cell, to detect stale handles. */
  readonly nonce: number;
  /** The minima of operations, if any. */
  readonly minima?: MinimaHandle | undefined;
}

/** Statistics of a sampler over all threads. */
export interface SamplerStats {
  /** The smoothed arrival rate, in spans per second. */
  readonly arrivalsPerSecond: number;
  /** The probability of keeping the next span. */
  readonly probability: number;
  /** Spans that the probability selected but the limit refused, since creation. */
  readonly refused: number;
  /** Spans kept only by the minimum of their operation, since creation. */
  readonly keptByMinimum: number;
}

export const SAMPLER_OPTIONS: Known<SamplerOptions> = {
  rate: true,
  burst: true,
  smoothingMs: true,
  minimum: true,
  minimumBurst: true,
  operations: true,
  clock: true,
  region: true,
  kernel: true,
};
const CHANGE: Known<SamplerChange> = {
  rate: true,
  burst: true,
  minimum: true,
  minimumBurst: true,
};
const BURST = { min: 2 } as const;
const LEAST_BURST = 10;
const OPERATIONS = 1000;
/** How long an unused minimum accumulates. */
const MINIMUM_SECONDS = 10;

/** @throws RangeError, TypeError naming the parameter, its range and its value. */
export function burstOf(rate: number, burst = Math.max(rate, LEAST_BURST)): number {
  return checkNumber('burst', burst, BURST);
}

export function minimumLimit(minimum: number, minimumBurst: number | undefined): SpanLimit {
  checkNumber('minimum', minimum, { min: 1e-6, max: 4e9 });
  const usual = Math.max(1, minimum * MINIMUM_SECONDS);
  const burst = minimumBurst === undefined ? usual : minimumBurst;
  const limit = { rate: minimum, burst: checkNumber('minimumBurst', burst, { min: 1 }) };
  scheduleOf(limit); // throws before anything is allocated or changed
  return limit;
}

/** The minimum given by the options, and its number of operations. */
export function minimumOf({
  minimum,
  minimumBurst,
  operations,
}: SamplerOptions): MinimumOptions | undefined {
  if (minimum === undefined) {
    for (const [name, value] of Object.entries({ minimumBurst, operations })) {
      if (value !== undefined) throw new TypeError(`${name} must be omitted without a minimum`);
    }
    return undefined;
  }
  const capacity = operations === undefined ? OPERATIONS : checkCapacity('operations', operations);
  return { ...minimumLimit(minimum, minimumBurst), capacity };
}

/** A checked change: the limit and the minimum in force with it. */
interface CheckedChange {
  readonly limit: Partial<Pick<SamplerOptions, 'rate' | 'burst'>>;
  readonly minimum: SpanLimit | undefined;
}

/** @throws RangeError, TypeError for an invalid change, naming the field. */
export function checkChange(change: SamplerChange, inForce: SpanLimit | undefined): CheckedChange {
  const { rate, burst, minimum, minimumBurst } = checkOptions(change, CHANGE, 'change');
  if (burst !== undefined) checkNumber('burst', burst, BURST);
  const limit = given({ rate, burst } as SpanLimit, { rate: true, burst: true });
  if (minimum === undefined && minimumBurst === undefined) return { limit, minimum: inForce };
  if (inForce === undefined) {
    throw new TypeError('minimum must be omitted: the sampler was created without one');
  }
  const next = minimumLimit(minimum ?? inForce.rate, minimumBurst ?? inForce.burst);
  return { limit, minimum: next };
}

/** Names the operation of a starting span. The arguments are those of a sampler. */
export type OperationOf = (
  context: Context,
  spanName: string,
  spanKind: SpanKind,
  attributes: Attributes,
) => string;

/** Per-thread options of a `ConsistentRateLimitingSampler` or a `RemoteSampler`. */
export interface ConsistentSamplerOptions {
  /**
   * How to decide on a span with a parent. `follow`, the default: keep it if its parent is kept.
   * `decide`: count it and decide on it like a root span, by the trace's randomness. A service with
   * a lower threshold then keeps all traces that one with a higher threshold keeps.
   */
  readonly children?: 'follow' | 'decide';
  /**
   * The source of a new trace's randomness. `trace-id`, the default: the last 7 bytes of the trace
   * id, which the SDK generates at random even though it does not set the W3C random flag.
   * `explicit`: a number in the tracestate, `rv`, for trace ids that are not random. It costs an
   * allocation per span, including dropped ones.
   */
  readonly randomness?: 'trace-id' | 'explicit';
  /**
   * The operation of a span, to which minima and per-operation probabilities apply: the name of an
   * attribute, or a function. If the attribute is missing or the function throws, the span's name
   * is used. Choose one with few distinct values. Default: the span's name.
   */
  readonly operation?: string | OperationOf;
}

export const CHOICES: Known<ConsistentSamplerOptions> = {
  children: true,
  randomness: true,
  operation: true,
};

const byName: OperationOf = (_context, spanName) => `${spanName}`;

function byAttribute(name: string): OperationOf {
  return (_context, spanName, _spanKind, attributes) => {
    const value = attributes[name];
    return value === undefined ? `${spanName}` : `${value}`;
  };
}

/** Falls back to the span's name if the function throws: a sampler must never throw. */
function guarded(own: OperationOf): OperationOf {
  let isReported = false;
  return (context, spanName, spanKind, attributes) => {
    try {
      return `${own(context, spanName, spanKind, attributes)}`;
    } catch (error) {
      if (!isReported) diag.error('zerotime: operation() threw; using the name of the span', error);
      isReported = true;
      return `${spanName}`;
    }
  };
}

/** @throws TypeError if the option is neither a function nor a string. */
function operationOf(option: string | OperationOf | undefined): OperationOf {
  if (option === undefined) return byName;
  if (typeof option === 'string') return byAttribute(option);
  if (typeof option === 'function') return guarded(option);
  throw new TypeError(
    `operation must be the name of an attribute or a function, got ${shown(option)}`,
  );
}

/** @throws RangeError, TypeError for an invalid option. */
export function choicesOf({
  children = 'follow',
  randomness = 'trace-id',
  operation,
}: ConsistentSamplerOptions): { follows: boolean; isExplicit: boolean; operationOf: OperationOf } {
  return {
    follows: checkChoice('children', children, ['follow', 'decide']) === 'follow',
    isExplicit: checkChoice('randomness', randomness, ['trace-id', 'explicit']) === 'explicit',
    operationOf: operationOf(operation),
  };
}
