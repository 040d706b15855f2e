import { compiled } from './compiled.ts';
import type { Exploration, Scenario } from './exploration.ts';
import { Explorer } from './explorer.ts';
import type { Operation } from './subject.ts';

/** URL of a compiled subject module of this folder. */
export function subjectModule(name: string): URL {
  return compiled(`test/explorer/${name}-subject.js`);
}

/** Explores a scenario completely, or up to its first violation. */
export async function explore(scenario: Scenario): Promise<Exploration> {
  const explorer = await Explorer.open(scenario);
  try {
    return explorer.explore();
  } finally {
    explorer.close();
  }
}

/** All unordered pairs of operations, including each with itself. */
export function pairs(
  operations: Readonly<Record<string, Operation>>,
): [name: string, a: Operation, b: Operation][] {
  const entries = Object.entries(operations);
  return entries.flatMap(([nameA, a], i) =>
    entries
      .slice(i)
      .map(([nameB, b]): [string, Operation, Operation] => [`${nameA} and ${nameB}`, a, b]),
  );
}

/** All unordered triples of operations. */
export function triples(
  operations: Readonly<Record<string, Operation>>,
): [name: string, a: Operation, b: Operation, c: Operation][] {
  const entries = Object.entries(operations);
  return entries.flatMap(([name, a], i) =>
    pairs(Object.fromEntries(entries.slice(i))).map(
      ([others, b, c]): [string, Operation, Operation, Operation] => [
        `${name}, ${others}`,
        a,
        b,
        c,
      ],
    ),
  );
}
