import { ENTRY } from '../../memory/layout.ts';
import type { KeyTable } from './keyed-table.ts';

/** An entry, and the halves of the identity that it had. */
export interface Owned {
  readonly entry: number;
  readonly high: number;
  readonly version: number;
}

/**
 * Moves an owner's state back, from one that was seen, unless it has changed; false if it has, or
 * if the owner has. Should the entry be reclaimed between the look at the owner and the exchange,
 * then the exchange fails, as the next owner's states have another tag.
 */
export function lower(table: KeyTable, owned: Owned, from: bigint, to: bigint): boolean {
  const { entry, high, version } = owned;
  if (!table.isOwned(entry, high, version)) return false;
  return Atomics.compareExchange(table.words, entry + ENTRY.state, from, to) === from;
}
