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

/** The load of one thread on a keyed limiter: each key in turn. */
export interface KeyedLoad {
  readonly keys: number;
  readonly burst: number;
  /** Time in which an empty bucket refills: long enough that none is full again during a run. */
  readonly fillSeconds: number;
}

/** More tokens than a key can take during a measurement. */
export const BURST = 1e6;

/** Distinct flat strings of 20 characters, as a request would deliver them. */
export function keysOf({ keys }: KeyedLoad): string[] {
  return Array.from({ length: keys }, (_, index) =>
    Buffer.from(`user-${String(index).padStart(15, '0')}`).toString('latin1'),
  );
}

/** Calls with each key in turn. The entries of consecutive keys are scattered over the table. */
export function inTurn<Answer>(
  keys: readonly string[],
  call: (key: string) => Answer,
): () => Answer {
  let next = 0;
  return () => {
    const key = keys[next] as string;
    next = next + 1 === keys.length ? 0 : next + 1;
    return call(key);
  };
}
