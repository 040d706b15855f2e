/** What threads request from one shared bucket in a loop: one token, now. */
export interface Load {
  readonly name: string;
  readonly rate: number;
  readonly burst: number;
  /** Tokens at the start. */
  readonly initial: number;
  /** Whether all calls are admitted or none. */
  readonly admits: boolean;
}

const FULL_BUCKET: Load = {
  name: 'admit, full',
  rate: 1e9,
  burst: 1e9,
  initial: 1e9,
  admits: true,
};

/** Stays neither full nor empty for minutes. */
export const HALF_FULL: Load = {
  name: 'admit, half full',
  rate: 1e9,
  burst: 1e12,
  initial: 5e11,
  admits: true,
};

export const EMPTY: Load = { name: 'deny', rate: 1e-3, burst: 1, initial: 0, admits: false };

export const LOADS: readonly Load[] = [FULL_BUCKET, HALF_FULL, EMPTY];
