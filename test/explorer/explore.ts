import { type Exploration, Explorer, type Scenario } from './explorer.ts';
import type { Operation } from './subject.ts';

/** URL of a compiled subject module of this folder. */
export function subjectModule(name: string): URL {
  return new URL(`../../dist/test/explorer/${name}-subject.js`, import.meta.url);
}

/** Explores a scenario to its end, or to its first violation. */
export async function explore(scenario: Scenario): Promise<Exploration> {
  const explorer = await Explorer.open(scenario);
  try {
    return explorer.explore();
  } finally {
    await explorer.close();
  }
}

/**
 * Explores a scenario once for each step before which its first thread can be stopped for ever.
 * Returns the violations, and how many stops there were.
 */
export async function exploreStops(
  scenario: Scenario,
): Promise<{ stops: number; violations: Exploration['violations'] }> {
  const violations: Exploration['violations'][number][] = [];
  for (let beforeStep = 0; ; beforeStep++) {
    const stop = { thread: 0, beforeStep };
    const exploration = await explore({ ...scenario, stop });
    violations.push(...exploration.violations);
    // Past its last step nothing is stopped any more, in any interleaving.
    if (!exploration.stopped) return { stops: beforeStep, violations };
  }
}

/** All unordered pairs of operations, each with itself too. */
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
