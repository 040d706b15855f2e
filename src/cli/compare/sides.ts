import type { RecordedRun } from './recorded-run.ts';

/** Stands between the files of one side and those of the next. */
const AGAINST = 'vs';

/** The runs that are compared with those of other sides. The first side is the baseline. */
export interface Side {
  readonly name: string;
  readonly runs: readonly RecordedRun[];
}

/** The files of each side: each its own, or as many as stand between two `vs`. */
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

/** A condition in which a run differs from the first one. */
export interface Mismatch {
  readonly name: string;
  /** What each run has, in order. */
  readonly values: readonly string[];
}

/** The names in which not all runs agree. */
export function mismatches(
  runs: readonly RecordedRun[],
  of: (run: RecordedRun) => ReadonlyMap<string, string>,
): Mismatch[] {
  const names = new Set(runs.flatMap((run) => [...of(run).keys()]));
  return [...names]
    .map((name) => ({ name, values: runs.map((run) => of(run).get(name) ?? 'none') }))
    .filter(({ values }) => new Set(values).size > 1);
}

/** Each value once, with the files that have it. */
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
