import { HALF_FULL, LOADS, type Load } from './loads.ts';

/** How long the bench measures what. */
export interface Settings {
  /** Rounds of what is measured beside peers; every round measures all of them in turn. */
  readonly rounds: number;
  /** What threads ask of one shared bucket, */
  readonly loads: readonly Load[];
  /** and how many of them. */
  readonly threadCounts: readonly number[];
  /** A thread calls for so long before it is measured, so that its code is compiled. */
  readonly warmUpMs: number;
  /** and for so long while it is. */
  readonly measureMs: number;
  /** The time for each row of the single-thread table, */
  readonly taskMs: number;
  /** of the wait table, */
  readonly waitsMs: number;
  /** of the pacing table, */
  readonly pacingMs: number;
  /** and for each run of a load generator: whole seconds. */
  readonly loadMs: number;
  /** How many keys; the first is what the others are compared with. */
  readonly keyCounts: readonly number[];
  /** Objects of which the memory is measured. */
  readonly objects: number;
}

export const FULL: Settings = {
  rounds: 5,
  loads: LOADS,
  threadCounts: [1, 2, 4],
  warmUpMs: 500,
  measureMs: 400,
  taskMs: 500,
  waitsMs: 1500,
  pacingMs: 5000,
  loadMs: 10_000,
  keyCounts: [1_000, 100_000, 1_000_000],
  objects: 10_000,
};

/** Too short to trust the figures, long enough to see that everything still runs. */
export const SHORT: Settings = {
  rounds: 1,
  loads: [HALF_FULL],
  threadCounts: [1, 2],
  warmUpMs: 20,
  measureMs: 10,
  taskMs: 20,
  waitsMs: 50,
  pacingMs: 250,
  loadMs: 1_000,
  keyCounts: [1_000, 10_000],
  objects: 1_000,
};
