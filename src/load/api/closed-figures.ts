import type { ClosedResult } from '../closed/run-closed.ts';

/** The median of several rounds, with their range. */
export interface Spread {
  /** Half of the rounds have less. */
  readonly median: number;
  /** The round with the least. */
  readonly least: number;
  /** The round with the most. */
  readonly most: number;
}

/** One thread in one round. */
export interface RoundThread {
  /** Calls that ended in the round. */
  readonly calls: number;
  /** From its first call to the end of its last. */
  readonly elapsedMs: number;
}

/** One round, in which all threads began at one instant. */
export interface Round {
  /** Of all threads together. */
  readonly callsPerSecond: number;
  /** The time that one thread took for a call, with all in flight beside it. Null without a call. */
  readonly nsPerCall: number | null;
  /** Null for a thread of which nothing is known, because it crashed. */
  readonly threads: readonly (RoundThread | null)[];
}

/** What `rate: Infinity` measured. */
export interface ClosedFigures {
  /** The rounds, in order. */
  readonly rounds: readonly Round[];
  /** Of all threads together. Null without a round. */
  readonly callsPerSecond: Spread | null;
  /** The time that one thread took for a call. Null without a call. */
  readonly nsPerCall: Spread | null;
  /** The share of all processors in use by anyone while the rounds ran, from 0 to 1. */
  readonly processors: number;
}

/** The figures of all rounds. */
export function closedFigures({ rounds, processors }: ClosedResult): ClosedFigures {
  const figures = rounds.map((threads) => roundOf(threads));
  return {
    rounds: figures,
    callsPerSecond: spreadOf(figures.map(({ callsPerSecond }) => callsPerSecond)),
    nsPerCall: spreadOf(figures.flatMap(({ nsPerCall }) => nsPerCall ?? [])),
    processors: processors.machine,
  };
}

function roundOf(threads: ClosedResult['rounds'][number]): Round {
  const known = threads.filter((thread) => thread !== undefined);
  const calls = known.reduce((sum, { counters }) => sum + counters.sent, 0);
  const elapsedUs = known.reduce((sum, thread) => sum + thread.elapsedUs, 0);
  return {
    callsPerSecond: known.reduce((sum, { counters, elapsedUs: us }) => {
      return sum + (us === 0 ? 0 : (counters.sent * 1e6) / us);
    }, 0),
    nsPerCall: calls === 0 ? null : (elapsedUs * 1_000) / calls,
    threads: threads.map((thread) =>
      thread === undefined
        ? null
        : { calls: thread.counters.sent, elapsedMs: thread.elapsedUs / 1_000 },
    ),
  };
}

function spreadOf(values: readonly number[]): Spread | null {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const [low, high] = [sorted[Math.floor(middle)], sorted[Math.ceil(middle)]];
  const [least, most] = [sorted[0], sorted.at(-1)];
  if (low === undefined || high === undefined) return null;
  if (least === undefined || most === undefined) return null;
  return { median: (low + high) / 2, least, most };
}
