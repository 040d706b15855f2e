import type { CallOutcome } from '../limiters/adaptation.ts';
import type { Clock } from '../time/clock.ts';
import type { Bounds } from './admission.ts';
import type { Key } from './level.ts';

/** The parts of a `Dispatcher`. */
export interface DispatcherOptions extends Bounds {
  readonly clock: Clock;
  readonly maxQueue: number;
  readonly timeoutMs: number;
  readonly weightOf: (key: Key) => number;
  /** The outcome of a failed call, for a semaphore that adapts. */
  readonly outcomeOf: (error: unknown) => CallOutcome;
}
