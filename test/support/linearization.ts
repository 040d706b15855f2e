import { isDeepStrictEqual } from 'node:util';
import type { Operation, Subject } from '../explorer/subject.ts';

/** An operation of a history, with its start and its end in an order that all threads share. */
export interface Recorded {
  readonly thread: number;
  readonly operation: Operation;
  /** The clock reading on which the answer is based. */
  readonly nowUs: number;
  readonly answer: unknown;
  readonly invoked: number;
  readonly returned: number;
}

/** A reference of the explorer: what it answers to operations in turn. */
export type Model = (recorded: Recorded) => unknown;

/** The answers of a reference; `run` makes a thread's operation at its instant. */
export function modelOf(
  { attach }: { attach(): Subject },
  run: (thread: Subject, recorded: Recorded) => unknown,
): Model {
  const threads: Subject[] = [];
  return (recorded) => {
    const thread = threads[recorded.thread] ?? attach();
    threads[recorded.thread] = thread;
    return run(thread, recorded) ?? null;
  };
}

/** Whether calls of different threads overlapped. */
export function overlaps(history: readonly Recorded[]): boolean {
  return history.some((a) =>
    history.some((b) => a.thread < b.thread && a.invoked < b.returned && b.invoked < a.returned),
  );
}

/** The clock readings at which a call may have taken effect: its own, or later ones. */
export type Instants = (recorded: Recorded, history: readonly Recorded[]) => readonly number[];

/**
 * Finds a sequential order of the calls that gives the same answers and never puts a call before
 * one that had returned when it was invoked. Undefined if there is none: the history is not
 * linearizable (Wing and Gong, "Testing and verifying concurrent objects", 1993).
 */
export function linearization(
  history: readonly Recorded[],
  newModel: () => Model,
  instants: Instants = ({ nowUs }) => [nowUs],
  order: readonly Recorded[] = [],
): readonly Recorded[] | undefined {
  const made = new Set(order.map(({ invoked }) => invoked));
  const left = history.filter(({ invoked }) => !made.has(invoked));
  if (left.length === 0) return order;
  const firstReturn = Math.min(...left.map(({ returned }) => returned));
  for (const next of left) {
    if (next.invoked > firstReturn) continue;
    for (const nowUs of instants(next, history)) {
      const then = { ...next, nowUs };
      // Models can't be copied, so the order so far is replayed.
      const answer = newModel();
      for (const earlier of order) answer(earlier);
      if (!isDeepStrictEqual(answer(then), next.answer)) continue;
      const found = linearization(history, newModel, instants, [...order, then]);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/**
 * If a fast thread completes a slow thread's write to a log, the slow thread's admission counts
 * from the fast thread's clock reading.
 */
export const orWhenFound: Instants = ({ nowUs, invoked, returned }, history) => {
  const found = history
    .filter((other) => other.invoked < returned && invoked < other.returned && other.nowUs > nowUs)
    .map((other) => other.nowUs);
  return [nowUs, ...new Set(found)];
};
