import { add64 } from '../accesses';
import { BLOCK_BITS, FREE, KEYED_ticketBlocks, TAG_BITS, TRANSIT } from '../constants';

// State words of a table whose keys have one limit: a zero-time, or a ticket that is never reused.
// keyed-composite/word.ts replaces this file in the module for keys with several limits.

let cell: usize = 0;
let ticket: i64 = 0;
let ticketsLeft: i32 = 0;

export function openWords(table: usize): void {
  cell = table;
}

/** Whether an entry has no owner. */
export function isUnused(state: i64): bool {
  return state == 0 || state == FREE;
}

/** Rises with the instant at which a live bucket is full for every limit. */
// biome-ignore lint/correctness/noUnusedFunctionParameters: the other form of word needs the entry
export function fullAt(entry: usize, state: i64): i64 {
  return state;
}

/** The state in which a thread takes an entry. No state recurs. */
// biome-ignore lint/correctness/noUnusedFunctionParameters: the other form of word needs them
export function heldAfter(entry: usize, state: i64): i64 {
  if (ticketsLeft == 0) {
    const block = add64(cell + KEYED_ticketBlocks, 1);
    ticket = (block << (BLOCK_BITS + TAG_BITS)) | TRANSIT;
    ticketsLeft = 1 << BLOCK_BITS;
  } else {
    ticket += 1 << TAG_BITS;
  }
  ticketsLeft--;
  return ticket;
}

/** The state of an entry that its holder gives up. */
// biome-ignore lint/correctness/noUnusedFunctionParameters: the other form of word needs the state
export function freed(state: i64): i64 {
  return FREE;
}
