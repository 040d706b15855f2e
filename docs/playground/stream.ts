import { randomNumbers } from '../../src/load/plan/random.ts';
import { parsePattern } from '../../src/simulate/patterns.ts';

/** The requests of one worker: every `of`-th of a stream that all workers share. */
export interface StreamOptions {
  /** The pattern, in the syntax of `zerotime simulate`. */
  readonly traffic: string;
  readonly seed: number;
  /** When the stream begins, in microseconds of the system's clock. */
  readonly startUs: number;
  readonly index: number;
  readonly of: number;
}

/** Returns the instants up to `nowUs` that it has not returned yet. */
export type Stream = (nowUs: number) => number[];

/** A late worker gets at most this many at once; the rest is dropped. */
const MOST_AT_ONCE = 20_000;

function* instants({ traffic, seed, startUs }: StreamOptions): Generator<number> {
  const random = randomNumbers(seed);
  for (const batch of parsePattern(traffic).arrivals(Number.POSITIVE_INFINITY, random)) {
    for (const atUs of batch) yield startUs + atUs;
  }
}

export function streamOf(options: StreamOptions): Stream {
  const all = instants(options);
  const { index, of } = options;
  let next = all.next();
  let place = 0;
  return (nowUs) => {
    const due: number[] = [];
    while (next.done !== true && next.value <= nowUs) {
      if (place++ % of === index) due.push(next.value);
      next = all.next();
    }
    return due.slice(-MOST_AT_ONCE);
  };
}
