import type { Known } from '../../known-options.ts';
import { shown } from '../../options.ts';
import type { OperationOf } from './operation.ts';

/** How one thread uses a `ConsistentRateLimitingSampler` or a `RemoteSampler`. */
export interface ConsistentSamplerOptions {
  /**
   * What becomes of a span that has a parent. `follow`, the default: it is kept if its parent is.
   * `decide`: it is counted and decided like a root span, by the randomness of its trace, so that a
   * trace kept by a service with a higher threshold is also kept by one with a lower.
   */
  readonly children?: 'follow' | 'decide';
  /**
   * Where the randomness of a new trace comes from. `trace-id`, the default: the last 7 bytes of the
   * trace id, which the SDK makes at random although it does not set the W3C random flag.
   * `explicit`: a number in the tracestate, `rv`, for trace ids that are not random. It costs an
   * allocation for each span, dropped ones included, because children need it.
   */
  readonly randomness?: 'trace-id' | 'explicit';
  /**
   * The operation of a span, for which minima and the probabilities of operations hold: the name of
   * an attribute, or a function. Spans without the attribute, and spans for which the function
   * throws, are named by the span. Use one with few different values. Default: the span's name.
   */
  readonly operation?: string | OperationOf;
}

export const CHOICES: Known<ConsistentSamplerOptions> = {
  children: true,
  randomness: true,
  operation: true,
};

/** The value of an option, the first of its choices if it is left out. */
export function choice<T extends string>(
  name: string,
  value: T | undefined,
  choices: readonly [T, T],
): T {
  if (value === undefined) return choices[0];
  if (choices.includes(value)) return value;
  throw new RangeError(`${name} must be "${choices[0]}" or "${choices[1]}", got ${shown(value)}`);
}
