import { isDeepStrictEqual } from 'node:util';
import type { Execution, Scenario } from './exploration.ts';
import type { Operation, SubjectModule } from './subject.ts';

/** An operation, by its thread and its index there. */
type Place = readonly [thread: number, operation: number];

/** The outcome of the operations in one sequential order. */
interface Outcome {
  readonly order: readonly Place[];
  /** The operations that took their allowed alternative. */
  readonly instead: readonly Place[];
  /** The operations that could have, but did not, or never returned. */
  readonly rivals: readonly Place[];
  readonly results: ReadonlyMap<string, unknown>;
  readonly observation: unknown;
}

/** Every order that keeps each thread's own, with and without the unfinished tails. */
function* orders(lengths: readonly number[], done: readonly number[]): Generator<Place[]> {
  yield [];
  for (const [thread, count] of done.entries()) {
    if (count >= (lengths[thread] ?? 0)) continue;
    const next = done.map((n, other) => (other === thread ? n + 1 : n));
    for (const rest of orders(lengths, next)) yield [[thread, count], ...rest];
  }
}

/** Every subset. */
function* selections<T>([first, ...others]: readonly T[]): Generator<T[]> {
  if (first === undefined) return yield [];
  for (const rest of selections(others)) {
    yield rest;
    yield [first, ...rest];
  }
}

/**
 * Whether an interleaving is linearizable: some sequential order of its operations gives the same
 * results and final state, and puts no operation before one that had returned when it began
 * (Herlihy and Wing, 1990). The subject's reference defines the results of an order.
 *
 * An operation that never returned may or may not have taken effect. An operation may act as the
 * alternative named by the scenario, if an overlapping operation of another thread could have but
 * did not.
 */
export class Specification {
  readonly #outcomes: readonly Outcome[];

  constructor(
    { setup, threads, instead = {} }: Pick<Scenario, 'setup' | 'threads' | 'instead'>,
    subject: Pick<SubjectModule, 'reference'>,
  ) {
    const operationAt = ([thread, operation]: Place): Operation => {
      const found = threads[thread]?.[operation];
      if (found === undefined) throw new Error(`thread ${thread} has no operation ${operation}`);
      return found;
    };
    const lengths = threads.map((operations) => operations.length);
    const none = lengths.map(() => 0);
    const optional = threads.flatMap((operations, thread) =>
      operations.flatMap(([name], at): Place[] => (name in instead ? [[thread, at]] : [])),
    );
    const run = (order: readonly Place[], exceptions: readonly Place[]): Outcome => {
      const reference = subject.reference(setup);
      const subjects = threads.map(() => reference.attach());
      const results = new Map<string, unknown>();
      for (const place of order) {
        const [name, ...args] = operationAt(place);
        const taken = exceptions.some(isSame(place)) ? (instead[name] ?? name) : name;
        results.set(place.join('/'), subjects[place[0]]?.run([taken, ...args]) ?? null);
      }
      const rivals = optional.filter((place) => !exceptions.includes(place));
      return { order, instead: exceptions, rivals, results, observation: reference.observe() };
    };
    this.#outcomes = [...orders(lengths, none)].flatMap((order) => {
      const happened = optional.filter((place) => order.some(isSame(place)));
      return [...selections(happened)].map((exceptions) => run(order, exceptions));
    });
  }

  explains(execution: Execution): boolean {
    return this.#outcomes.some((outcome) => explains(outcome, execution));
  }
}

function isSame([thread, operation]: Place): (other: Place) => boolean {
  return ([otherThread, at]) => thread === otherThread && operation === at;
}

/** Whether two operations of different threads overlapped. */
function overlap([thread, operation]: Place, [other, at]: Place, { begun }: Execution): boolean {
  const before = begun[thread]?.[operation];
  const after = begun[other]?.[at];
  if (thread === other || before === undefined || after === undefined) return false;
  return at >= (before[other] ?? 0) && operation >= (after[thread] ?? 0);
}

function explains(outcome: Outcome, execution: Execution): boolean {
  const { order, instead, rivals, results, observation } = outcome;
  if (!isDeepStrictEqual(observation, execution.observation)) return false;
  for (const [thread, returned] of execution.results.entries()) {
    for (const [operation, result] of returned.entries()) {
      const place = `${thread}/${operation}`;
      if (!results.has(place) || !isDeepStrictEqual(results.get(place), result)) return false;
    }
  }
  const isExcused = (place: Place) => rivals.some((rival) => overlap(place, rival, execution));
  if (!instead.every(isExcused)) return false;
  const begun = ([thread, operation]: Place) => execution.begun[thread]?.[operation];
  const hasReturned = ([thread, operation]: Place) =>
    operation < (execution.results[thread]?.length ?? 0);
  return order.every((later, at) => {
    // An operation that took no step cannot have taken effect, unless it needs none.
    if (begun(later) === undefined && !hasReturned(later)) return false;
    const [thread, operation] = later;
    return order.slice(0, at).every((earlier) => operation >= (begun(earlier)?.[thread] ?? 0));
  });
}
