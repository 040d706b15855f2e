import type { ExploredKernel } from './explored-kernel.ts';
import type { Operation } from './subject.ts';

/** A memory to explore, and the operations of each thread on it. */
export interface Scenario {
  /** URL of a compiled {@link SubjectModule}. */
  readonly module: URL;
  /** Passed to the module: which memory to create. */
  readonly setup: string;
  /** The kernel of the threads. Default: `atomics`. */
  readonly kernel?: ExploredKernel;
  readonly threads: readonly (readonly Operation[])[];
  /** Whether one thread may be stopped forever before any of its steps. */
  readonly stops?: boolean;
  /**
   * Maps an operation to another operation of the reference that it may act as, with the same
   * arguments, if an operation of another thread overlaps it.
   */
  readonly instead?: Readonly<Record<string, string>>;
}

/** Number of completed operations, by thread. */
export type Returned = readonly number[];

/** The history of one interleaving. */
export interface Execution {
  /**
   * What had completed when each operation, by thread, took its first step; undefined for an
   * operation without steps.
   */
  readonly begun: readonly (readonly (Returned | undefined)[])[];
  /** The results of completed operations, by thread. */
  readonly results: readonly (readonly unknown[])[];
  readonly observation: unknown;
}

/** An interleaving whose outcome matches no sequential order. */
export interface Violation {
  /** Which thread took each step or was stopped, for `Explorer.replay`. */
  readonly schedule: readonly number[];
  readonly execution: Execution;
}

/** The outcome of an exploration. */
export interface Exploration {
  /**
   * Number of interleavings; those that differ only in the order of commuting steps count as one.
   * Beyond 2^53 it is rounded.
   */
  readonly interleavings: number;
  /** Number of distinct states. */
  readonly states: number;
  /** Number of steps between states. */
  readonly steps: number;
  /** Number of steps before which a thread was stopped forever. */
  readonly stops: number;
  /** Interleavings run on real threads. The others are composed of steps observed in these. */
  readonly runs: number;
  readonly violation: Violation | undefined;
}
