/** What one thread asks of the buckets of many keys, one key after the other. */
export interface KeyedLoad {
  readonly keys: number;
  readonly burst: number;
  /** Seconds in which an empty bucket fills up: so long that none is full again in between. */
  readonly fillSeconds: number;
}

/** More tokens than any key can take while it is measured. */
export const BURST = 1e6;

/** Distinct keys of 20 characters, each in one piece, as if they came from a request. */
export function keysOf({ keys }: KeyedLoad): string[] {
  return Array.from({ length: keys }, (_, index) =>
    Buffer.from(`user-${String(index).padStart(15, '0')}`).toString('latin1'),
  );
}

/** Calls with each key in turn. Their places in a table lie at random. */
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
