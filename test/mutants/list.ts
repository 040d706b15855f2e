import { readFileSync } from 'node:fs';
import { compiled } from '../explorer/compiled.ts';
import type { Branch, Mutant } from './transform.ts';

/** Which mutants to build and try. */
export interface Choice {
  /** Part of a file's name, or a mutant's number. */
  readonly only?: string;
  /** By default, one mutant in this many; the seed selects them. */
  readonly stride: number;
  readonly seed: number;
}

export function isChosen(
  { only, stride, seed }: Choice,
  { file, number }: Pick<Mutant, 'file' | 'number'>,
): boolean {
  if (only !== undefined) return file.includes(only) || String(number) === only;
  return (number + seed) % stride === 0;
}

/** What build.mjs has found in the engine. */
interface Built {
  readonly mutants: readonly Mutant[];
  readonly branches: readonly Branch[];
  /** Numbers of the chosen mutants that do not compile. */
  readonly dropped: readonly number[];
}

export function readList(): Built {
  const list = JSON.parse(readFileSync(compiled('mutants/list.json'), 'utf8')) as Built; // by build.mjs
  const { mutants, branches, dropped } = list;
  return { mutants: mutants.filter(({ number }) => !dropped.includes(number)), branches, dropped };
}

/** Names a mutant by the code that it changes, as long as that code stays the same. */
export function keyOf({ file, within, original, mutated, occurrence }: Mutant): string {
  const which = occurrence === 1 ? '' : ` #${occurrence}`;
  return `${file.replace('engine/', '')} ${within}: ${original} -> ${mutated}${which}`;
}
