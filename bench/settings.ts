/** How long the bench measures what. */
export interface Settings {
  /** Rounds of each thread measurement; every round measures all peers in turn. */
  readonly rounds: number;
  /** A thread calls for so long before it is measured, so that its code is compiled. */
  readonly warmUpMs: number;
  /** and for so long while it is. */
  readonly measureMs: number;
  /** The time for each row of the single-thread table, */
  readonly taskMs: number;
  /** of the wait table, */
  readonly waitsMs: number;
  /** and of the pacing table. */
  readonly pacingMs: number;
}

export const FULL: Settings = {
  rounds: 5,
  warmUpMs: 500,
  measureMs: 400,
  taskMs: 500,
  waitsMs: 1500,
  pacingMs: 5000,
};

/** Too short to trust the figures, long enough to see that everything still runs. */
export const SHORT: Settings = {
  rounds: 1,
  warmUpMs: 100,
  measureMs: 50,
  taskMs: 50,
  waitsMs: 100,
  pacingMs: 500,
};
