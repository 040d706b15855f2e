import { type Attributes, type Context, diag, type SpanKind } from '@opentelemetry/api';
import type { Known } from '../../known-options.ts';
import { shown } from '../../options.ts';

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

/** The value of an option; by default its first choice. */
export function choice<T extends string>(
  name: string,
  value: T | undefined,
  choices: readonly [T, T],
): T {
  if (value === undefined) return choices[0];
  if (choices.includes(value)) return value;
  throw new RangeError(`${name} must be "${choices[0]}" or "${choices[1]}", got ${shown(value)}`);
}

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
export function operationOf(option: string | OperationOf | undefined): OperationOf {
  if (option === undefined) return byName;
  if (typeof option === 'string') return byAttribute(option);
  if (typeof option === 'function') return guarded(option);
  throw new TypeError(
    `operation must be the name of an attribute or a function, got ${shown(option)}`,
  );
}
