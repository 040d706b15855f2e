import { isDeepStrictEqual } from 'node:util';
import type { Operation, SubjectModule } from './subject.ts';

/** How many operations of each thread had returned. */
export type Returned = readonly number[];

/** What one interleaving did. */
export interface Execution {
  /**
   * What had returned when each operation, by thread, took its first step; undefined for one that
   * took none.
   */
  readonly begun: readonly (readonly (Returned | undefined)[])[];
  /** Of the operations that returned, by thread. */
  readonly results: readonly (readonly unknown[])[];
  readonly observation: unknown;
}

/** An operation, by its thread and its place there. */
type Place = readonly [thread: number, operation: number];

/** What the operations do one after the other, in one order. */
interface Outcome {
  readonly order: readonly Place[];
  readonly results: ReadonlyMap<string, unknown>;
  readonly observation: unknown;
}

/** Every order of all operations, and of all but the unfinished tails, that keeps each thread's own. */
function* orders(lengths: readonly number[], done: readonly number[]): Generator<Place[]> {
  yield [];
  for (const [thread, count] of done.entries()) {
    if (count >= (lengths[thread] ?? 0)) continue;
    const next = done.map((n, other) => (other === thread ? n + 1 : n));
    for (const rest of orders(lengths, next)) yield [[thread, count], ...rest];
  }
}

/**
 * Whether an interleaving is linearizable: some order of its operations, one after the other, gives
 * the same results and leaves the same behind, and has no operation before one that had returned
 * when it began (Herlihy and Wing, 1990). The subject itself, run by one thread with the `atomics`
 * kernel, says what an order gives; that it is right by itself is for other tests.
 *
 * An operation that never returned may have happened or not.
 */
export class Specification {
  readonly #outcomes: readonly Outcome[];

  constructor(
    threads: readonly (readonly Operation[])[],
    subject: SubjectModule,
    initial: Uint8Array,
  ) {
    const lengths = threads.map((operations) => operations.length);
    const none = lengths.map(() => 0);
    this.#outcomes = [...orders(lengths, none)].map((order) => {
      const buffer = new SharedArrayBuffer(initial.byteLength);
      new Uint8Array(buffer).set(initial);
      const subjects = threads.map(() => subject.attach(buffer));
      const results = new Map<string, unknown>();
      for (const [thread, operation] of order) {
        const what = threads[thread]?.[operation];
        if (what !== undefined) {
          results.set(`${thread}/${operation}`, subjects[thread]?.run(what) ?? null);
        }
      }
      return { order, results, observation: subject.observe(buffer) };
    });
  }

  explains(execution: Execution): boolean {
    return this.#outcomes.some((outcome) => explains(outcome, execution));
  }
}

function explains({ order, results, observation }: Outcome, execution: Execution): boolean {
  if (!isDeepStrictEqual(observation, execution.observation)) return false;
  for (const [thread, returned] of execution.results.entries()) {
    for (const [operation, result] of returned.entries()) {
      const place = `${thread}/${operation}`;
      if (!results.has(place) || !isDeepStrictEqual(results.get(place), result)) return false;
    }
  }
  const begun = ([thread, operation]: Place) => execution.begun[thread]?.[operation];
  const hasReturned = ([thread, operation]: Place) =>
    operation < (execution.results[thread]?.length ?? 0);
  return order.every((later, at) => {
    // What never took a step cannot have happened, unless it needs none.
    if (begun(later) === undefined && !hasReturned(later)) return false;
    const [thread, operation] = later;
    return order.slice(0, at).every((earlier) => operation >= (begun(earlier)?.[thread] ?? 0));
  });
}
