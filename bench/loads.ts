/** What threads ask of one shared bucket, again and again: one token, now. */
export interface Load {
  readonly name: string;
  readonly rate: number;
  readonly burst: number;
  /** Tokens at the start. */
  readonly initial: number;
  /** Whether every call is admitted. Otherwise none is. */
  readonly admits: boolean;
}

const FULL_BUCKET: Load = {
  name: 'admit, full',
  rate: 1e9,
  burst: 1e9,
  initial: 1e9,
  admits: true,
};

/** Neither full nor empty for minutes to come. */
export const HALF_FULL: Load = {
  name: 'admit, half full',
  rate: 1e9,
  burst: 1e12,
  initial: 5e11,
  admits: true,
};

export const EMPTY: Load = { name: 'deny', rate: 1e-3, burst: 1, initial: 0, admits: false };

export const LOADS: readonly Load[] = [FULL_BUCKET, HALF_FULL, EMPTY];
