import { readFileSync } from 'node:fs';
import { compiled } from '../explorer/compiled.ts';
import type { Branch, Mutant } from './transform.ts';

/** What build.mjs has put into the engine. */
interface Built {
  readonly mutants: readonly Mutant[];
  readonly branches: readonly Branch[];
  /** Numbers of mutants that do not compile. */
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
