import type { ClosedResult } from '../closed/run-closed.ts';

/** The median and range of a figure over several rounds. */
export interface Spread {
  /** The median over the rounds. */
  readonly median: number;
  /** The lowest value of a round. */
  readonly least: number;
  /** The highest value of a round. */
  readonly most: number;
}

/** One thread in one round. */
export interface RoundThread {
  /** Calls that ended in this round. */
  readonly calls: number;
  /** Milliseconds from its first call to the end of its last. */
  readonly elapsedMs: number;
}

/** One round. All threads start it at the same instant. */
export interface Round {
  /** Total of all threads. */
  readonly callsPerSecond: number;
  /** The threads' total time divided by their calls, in nanoseconds. Null without a call. */
  readonly nsPerCall: number | null;
  /** One per thread; null if the thread crashed before it could report. */
  readonly threads: readonly (RoundThread | null)[];
}

/** The figures of a run with `rate: Infinity`. */
export interface ClosedFigures {
  /** The rounds, in order. */
  readonly rounds: readonly Round[];
  /** Total of all threads. Null without a round. */
  readonly callsPerSecond: Spread | null;
  /** Thread time per call, in nanoseconds. Null without a call. */
  readonly nsPerCall: Spread | null;
  /** Processor use of the whole machine during the rounds, from 0 to 1. */
  readonly processors: number;
}

/** Summarizes all rounds. */
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
