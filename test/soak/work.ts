import type { Admitted } from './job.ts';

/** What a thread does over and over, and how it ends a round. */
export interface Work {
  readonly step: () => void;
  /** Aborts some of the waits that were begun. */
  readonly abort?: () => void;
  /** Gives back what only this thread knows of, and waits for what is under way. */
  readonly rest?: () => Promise<void>;
  /** What was admitted, where the instants matter. */
  readonly admitted?: readonly Admitted[];
}
