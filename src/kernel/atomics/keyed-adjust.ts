import { ENTRY } from '../../memory/layout.ts';
import { LIVE, tagOf } from '../keyed-words.ts';
import type { KeyTable } from './keyed-table.ts';

/** An entry, and the halves of the identity that it had. */
export interface Owned {
  readonly entry: number;
  readonly high: number;
  readonly version: number;
}

/**
 * Moves an owner's state back, from one that was seen, unless it has changed; false if it has, or
 * if the owner has. Should the entry have been reclaimed between the look at the owner and the
 * exchange, and the next owner's state be the very same, then the tokens are taken back.
 */
export function lower(table: KeyTable, owned: Owned, from: bigint, to: bigint): boolean {
  const { entry, high, version } = owned;
  const at = entry + ENTRY.state;
  if (!table.isOwned(entry, high, version)) return false;
  if (Atomics.compareExchange(table.words, at, from, to) !== from) return false;
  if (table.isOwned(entry, high, version)) return true;
  for (;;) {
    const state = Atomics.load(table.words, at);
    if (tagOf(state) !== LIVE) return false;
    const charged = BigInt.asIntN(64, state + (from - to));
    if (Atomics.compareExchange(table.words, at, state, charged) === state) return false;
  }
}
