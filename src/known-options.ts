import { checkObject } from './options.ts';

/** The keys of every member of a union. */
type KeysOf<T> = T extends unknown ? keyof T : never;

/** The intersection of a union's members. */
export type Every<T> = (T extends unknown ? (member: T) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

/** Names every option of `T`: the compiler reports a missing one. */
export type Known<T> = Readonly<Record<KeysOf<T>, true>>;

/**
 * Merges tables of options. It is a pure call, because bundlers keep spreads: a bundle of one
 * limiter would contain the tables of all.
 */
export function joined<const Tables extends readonly Readonly<Record<string, true>>[]>(
  ...tables: Tables
): Every<Tables[number]> {
  return Object.assign({}, ...tables);
}

/**
 * A copy of the options, with the known ones that they inherit, which a spread leaves out; without
 * those that are undefined, which count as omitted.
 */
export function given<T extends object>(options: T, known: Known<T>): Partial<T> {
  const names = new Set([...Object.keys(options), ...Object.keys(known)]) as Set<keyof T>;
  const entries = [...names].map((name) => [name, options[name]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** Names that need more changes are not suggested. */
const MOST_CHANGES = 3;

/** The Levenshtein distance: the number of letters to insert, delete or replace. */
function changesBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [i, letter] of [...a].entries()) {
    const above = row;
    row = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const replaced = (above[j] ?? 0) + (letter === other ? 0 : 1);
      row.push(Math.min(replaced, (above[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1));
    }
  }
  return row.at(-1) ?? 0;
}

/** The known name closest to a wrong one; undefined if none is close. */
function nearest(wrong: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((name) => ({ name, changes: changesBetween(wrong.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, changes }) => changes <= Math.min(MOST_CHANGES, name.length - 2))
    .sort((a, b) => a.changes - b.changes);
  return best?.name;
}

/** Says that an object is of a class, such as a limiter in place of options. */
function classHint(options: object): string {
  const name: unknown = options.constructor?.name;
  return typeof name !== 'string' || name === 'Object' ? '' : `; it is a ${name.slice(0, 80)}`;
}

/**
 * Returns `options` if it is an object with known options only; otherwise throws a TypeError that
 * suggests the closest option, or names the class of an object that is not plain.
 */
export function checkOptions<T extends object>(
  options: T,
  known: Known<T>,
  parameter = 'options',
): T {
  checkObject(parameter, options);
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(known, name)) continue;
    const close = nearest(name, Object.keys(known));
    const hint = close === undefined ? classHint(options) : `; did you mean ${close}?`;
    throw new TypeError(`${parameter} has no option ${JSON.stringify(name.slice(0, 80))}${hint}`);
  }
  return options;
}
