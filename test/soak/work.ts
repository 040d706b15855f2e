import type { Admitted } from './job.ts';

/** The loop body of a soak thread, and the end of its round. */
export interface Work {
  readonly step: () => void;
  /** Aborts some of the pending waits. */
  readonly abort?: () => void;
  /** Returns the tokens that only this thread knows of, and awaits pending calls. */
  readonly rest?: () => Promise<void>;
  /** The admissions, for scenes that check instants. */
  readonly admitted?: readonly Admitted[];
}
