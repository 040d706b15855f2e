import type { Scenario } from '../exploration.ts';
import { pairs, subjectModule, triples } from '../explore.ts';
import type { Operation } from '../subject.ts';

/** A scenario to explore with each kernel. */
export interface Shared extends Scenario {
  readonly subject: string;
  readonly name: string;
}

export type Named = Readonly<Record<string, Operation>>;

/** An operation as text, such as `acquire 1 0`. */
function operation(text: string): Operation {
  const [, name = '', numbers = ''] = /^(.*?)((?: -?[\d.e]+)*)$/.exec(text) ?? [];
  return [name, ...(numbers.match(/\S+/g) ?? []).map(Number)];
}

/** Operations, each as text. */
export function named<Name extends string>(texts: Record<Name, string>): Record<Name, Operation> {
  const entries = Object.entries<string>(texts).map(([name, text]) => [name, operation(text)]);
  return Object.fromEntries(entries);
}

/** Threads as text: `take; cancel | drain 5`, by the names of operations, or as they are. */
export function threads(text: string, names: Named = {}): Operation[][] {
  const each = (one: string) => names[one] ?? operation(one);
  return text.split(' | ').map((thread) => thread.split('; ').map(each));
}

/** What scenarios have in common. */
export interface Base extends Pick<Shared, 'subject' | 'setup' | 'stops' | 'instead'> {
  readonly module: string;
}

/** Scenarios by name, and the {@link threads} of each. */
export function played(
  { module, ...base }: Base,
  names: Named,
  texts: Readonly<Record<string, string>>,
): Shared[] {
  return Object.entries(texts).map(([name, text]) => ({
    ...{ stops: true, ...base, name },
    ...{ module: subjectModule(module), threads: threads(text, names) },
  }));
}

/** How the operations of one subject are combined. */
export interface Plan {
  readonly subject: string;
  readonly module: string;
  readonly setup: string;
  /** All pairs: on two threads of one operation each, and in both orders on two threads of two. */
  readonly operations: Named;
  /** Pairs with these are explored only on two threads of one operation each. */
  readonly long?: Named;
  /** All triples of these, on three threads. */
  readonly inThrees: Named;
  /** An operation and one that depends on it, against each pair of others. */
  readonly followed?: readonly [name: string, first: Operation, second: Operation];
  /** A pair, by name, with more states than all others: not explored in both orders. */
  readonly oneWay?: string;
  /**
   * The scenarios, by name, in which no thread is stopped: tokens taken by a stopped thread count
   * from when they are found, as documented, which no sequential order can express.
   */
  readonly unstopped?: RegExp;
}

export function listed(plan: Plan): Shared[] {
  const { subject, setup, operations, long = {}, inThrees, followed, unstopped = /^$/ } = plan;
  const base = { subject, module: subjectModule(plan.module), setup };
  const list = (name: string, ...threads: Operation[][]): Shared => ({
    ...base,
    name,
    threads,
    stops: !unstopped.test(name),
  });
  return [
    ...pairs({ ...operations, ...long }).map(([name, a, b]) => list(name, [a], [b])),
    ...pairs(operations)
      .filter(([name]) => name !== plan.oneWay)
      .map(([name, a, b]) => list(`${name}, both ways`, [a, b], [b, a])),
    ...triples(inThrees).map(([name, ...ops]) => list(name, ...ops.map((one) => [one]))),
    ...(followed === undefined
      ? []
      : [
          list(`${followed[0]}, twice`, [followed[1], followed[2]], [followed[1], followed[2]]),
          ...pairs(operations).map(([name, a, b]) =>
            list(`${followed[0]}, beside ${name}`, [followed[1], followed[2]], [a, b]),
          ),
        ]),
  ];
}
