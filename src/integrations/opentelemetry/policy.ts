import type { Attributes } from '@opentelemetry/api';
import type { Threshold } from './threshold.ts';

/** The sampling probability of an operation. */
export interface Chance {
  readonly threshold: Threshold;
  /** Attributes of kept spans; undefined: those of the limit. */
  readonly attributes: Attributes | undefined;
}

/** Per-operation probabilities. The lower of this and the limit's probability applies. */
export interface Policy {
  /** Whether the policy has changed since the last call. */
  hasChanged(): boolean;
  /** The probability of an operation; undefined if it is 0. */
  chanceOf(operation: string): Chance | undefined;
  /** Whether operations have a minimum. */
  readonly hasMinima: boolean;
}
