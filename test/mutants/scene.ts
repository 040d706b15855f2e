import type { ModuleName } from './engine.ts';

// What was done with the engine, call by call, so that it can be done again with a mutant of it.

/** A word of 32 bits that something else than the engine has written. */
export type Poke = readonly [index: number, value: number];

export interface Call {
  readonly module: ModuleName;
  readonly thread: number;
  readonly name: string;
  readonly args: readonly unknown[];
  /** What was written before it. */
  readonly pokes: readonly Poke[];
  /** The clock, each time it was read. */
  readonly clock: number[];
  /** The access before which another thread continues; 0 for none. */
  readonly stopAt: number;
  readonly meanwhile: Call[];
  /** What was written after that. */
  readonly pokesThen: Poke[];
  /** Whether the thread dies there. */
  readonly dies: boolean;
}

/** Calls that follow each other on one memory. */
export interface Scene {
  readonly name: string;
  /** The memory at the start. */
  readonly initial: Uint8Array;
  readonly calls: readonly Call[];
}
