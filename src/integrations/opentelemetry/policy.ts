import type { Attributes } from '@opentelemetry/api';
import type { Threshold } from './threshold.ts';

/** The probability of an operation's spans. */
export interface Chance {
  readonly threshold: Threshold;
  /** Attributes of the spans that it keeps; undefined: those of the limit. */
  readonly attributes: Attributes | undefined;
}

/** Probabilities of operations, which hold beside that of the limit: the lower one counts. */
export interface Policy {
  /** Whether it has changed since the last call. */
  hasChanged(): boolean;
  /** The chance of an operation; undefined if its probability is 0. */
  chanceOf(operation: string): Chance | undefined;
  /** Whether operations have a minimum. */
  readonly hasMinima: boolean;
}
