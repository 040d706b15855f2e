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
