import { HALF_FULL, LOADS, type Load } from './loads.ts';

/** How long and how often to measure. */
export interface Settings {
  /** Rounds of comparisons with peers; each round measures all of them in turn. */
  readonly rounds: number;
  /** The loads on one shared bucket. */
  readonly loads: readonly Load[];
  /** The numbers of threads on one shared bucket. */
  readonly threadCounts: readonly number[];
  /** Each thread calls for this long before the measurement, so that its code is compiled. */
  readonly warmUpMs: number;
  /** Duration of a thread's measurement. */
  readonly measureMs: number;
  /** Duration per row of the single-thread table. */
  readonly taskMs: number;
  /** Duration per row of the wait table. */
  readonly waitsMs: number;
  /** Duration per row of the pacing table. */
  readonly pacingMs: number;
  /** How long the processor time of sleeping callers is measured. */
  readonly sleepMs: number;
  /** Duration of each load generator run, in whole seconds. */
  readonly loadMs: number;
  /** Rates at which load generators report their latency. */
  readonly latencyRates: readonly number[];
  /** Duration of each of those runs, in whole seconds. */
  readonly latencyMs: number;
  /** Numbers of keys; the first is the baseline. */
  readonly keyCounts: readonly number[];
  /** Numbers of keys in random order; the first also for keys that change. */
  readonly randomKeyCounts: readonly number[];
  /** Number of objects in a memory measurement. */
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
  sleepMs: 20_000,
  loadMs: 10_000,
  latencyRates: [1_000, 5_000, 10_000, 15_000],
  latencyMs: 4_000,
  keyCounts: [1_000, 100_000, 1_000_000],
  randomKeyCounts: [131_072, 1_048_576],
  objects: 10_000,
};

/** Too short for reliable figures, but enough to show that everything runs. */
export const SHORT: Settings = {
  rounds: 1,
  loads: [HALF_FULL],
  threadCounts: [1, 2],
  warmUpMs: 20,
  measureMs: 10,
  taskMs: 20,
  waitsMs: 50,
  pacingMs: 250,
  sleepMs: 500,
  loadMs: 1_000,
  latencyRates: [1_000],
  latencyMs: 1_000,
  keyCounts: [1_000, 10_000],
  randomKeyCounts: [1_024, 4_096],
  objects: 1_000,
};
