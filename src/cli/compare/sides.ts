import type { RecordedRun } from './recorded-run.ts';

/** Separates the files of two sides. */
const AGAINST = 'vs';

/** A group of runs to compare with other groups. The first side is the baseline. */
export interface Side {
  readonly name: string;
  readonly runs: readonly RecordedRun[];
}

/** Splits files into sides: at each `vs` or, without one, after each file. */
export function splitSides(words: readonly string[]): string[][] {
  if (!words.includes(AGAINST)) return words.map((word) => [word]);
  const sides: string[][] = [[]];
  for (const word of words) {
    if (word === AGAINST) sides.push([]);
    else sides.at(-1)?.push(word);
  }
  return sides;
}

export function sideOf(runs: readonly RecordedRun[]): Side {
  const [first] = runs;
  const others = runs.length - 1;
  const name = first?.path ?? '';
  return { name: others > 0 ? `${name} and ${others} more` : name, runs };
}

/** A condition that is not equal in all runs. */
export interface Mismatch {
  readonly name: string;
  /** The value of each run, in order. */
  readonly values: readonly string[];
}

/** The conditions that are not equal in all runs. */
export function mismatches(
  runs: readonly RecordedRun[],
  of: (run: RecordedRun) => ReadonlyMap<string, string>,
): Mismatch[] {
  const names = new Set(runs.flatMap((run) => [...of(run).keys()]));
  return [...names]
    .map((name) => ({ name, values: runs.map((run) => of(run).get(name) ?? 'none') }))
    .filter(({ values }) => new Set(values).size > 1);
}

/** Lists each distinct value with its files. */
export function mismatchText({ name, values }: Mismatch, runs: readonly RecordedRun[]): string {
  const holders = new Map<string, string[]>();
  values.forEach((value, at) => {
    const paths = holders.get(value) ?? [];
    paths.push(runs[at]?.path ?? '');
    holders.set(value, paths);
  });
  const texts = [...holders].map(([value, paths]) => `${value} in ${paths.join(', ')}`);
  return `${name}: ${texts.join('; ')}`;
}
