import type { ExploredKernel } from './explored-kernel.ts';
import type { Operation } from './subject.ts';

/** What is explored: which memory, and what each thread does on it. */
export interface Scenario {
  /** URL of a compiled {@link SubjectModule}. */
  readonly module: URL;
  /** Passed to the module: which memory to lay down. */
  readonly setup: string;
  /** What the threads work with. Default: `atomics`. */
  readonly kernel?: ExploredKernel;
  readonly threads: readonly (readonly Operation[])[];
  /** Whether a thread, any one of them, may be stopped for ever before any of its steps. */
  readonly stops?: boolean;
  /**
   * The operation of the reference, by name, that another may be served as, with the same arguments.
   * Only where another thread's operation overlaps it.
   */
  readonly instead?: Readonly<Record<string, string>>;
}

/** How many operations of each thread had returned. */
export type Returned = readonly number[];

/** What one interleaving did. */
export interface Execution {
  /**
   * What had returned when each operation, by thread, took its first step; undefined for one that
   * took none.
   */
  readonly begun: readonly (readonly (Returned | undefined)[])[];
  /** Of the operations that returned, by thread. */
  readonly results: readonly (readonly unknown[])[];
  readonly observation: unknown;
}

/** An interleaving whose outcome no sequential order explains. */
export interface Violation {
  /** Which thread took each step, or was stopped: replays with `Explorer.replay`. */
  readonly schedule: readonly number[];
  readonly execution: Execution;
}

/** The outcome of an exploration. */
export interface Exploration {
  /** How many interleavings there are, if those that differ in steps that commute are one. */
  readonly interleavings: bigint;
  /** Different states that these lead through. */
  readonly states: number;
  /** Steps from one of these states to the next. */
  readonly steps: number;
  /** Those before which a thread was stopped for ever. */
  readonly stops: number;
  /** Interleavings that real threads ran. The others are made of steps that were seen in those. */
  readonly runs: number;
  readonly violation: Violation | undefined;
}
