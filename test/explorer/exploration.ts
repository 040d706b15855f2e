import type { ExploredKernel } from './explored-kernel.ts';
import type { Execution } from './specification.ts';
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
   * For operations that can go on for ever while others go on for ever: only interleavings in which
   * none takes more steps than this.
   */
  readonly longest?: number;
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
  /** How often an operation was not followed beyond its {@link Scenario.longest} step. */
  readonly cuts: number;
  readonly violation: Violation | undefined;
}
