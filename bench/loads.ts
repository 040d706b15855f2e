/** What threads ask of one shared bucket, again and again: one token, now. */
export interface Load {
  readonly name: string;
  readonly rate: number;
  readonly burst: number;
  /** Tokens at the start. */
  readonly initial: number;
  /** Whether every call is admitted. Otherwise none is. */
  readonly admits: boolean;
  /** At most this many times what the C++ loop takes, by number of threads: an aim, not a check. */
  readonly aims: Readonly<Record<number, number>>;
}

const ADMIT_AIMS = { 1: 2.2, 2: 2.8 };

export const LOADS: readonly Load[] = [
  { name: 'admit, full', rate: 1e9, burst: 1e9, initial: 1e9, admits: true, aims: ADMIT_AIMS },
  // Neither full nor empty for minutes to come.
  {
    name: 'admit, half full',
    rate: 1e9,
    burst: 1e12,
    initial: 5e11,
    admits: true,
    aims: ADMIT_AIMS,
  },
  { name: 'deny', rate: 1e-3, burst: 1, initial: 0, admits: false, aims: {} },
];

export const THREADS: readonly number[] = [1, 2, 4];
