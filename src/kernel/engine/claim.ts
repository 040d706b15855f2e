import { and64, exchange64, load64 } from './accesses';
import { CELL_word, INDEX_MASK, NO_HOLDER, RECORD_COUNT } from './constants';
import { holder } from './holder';

// Claims of configuration records: a byte for each, with the holder that is writing it.
//
// Invariant: a record is in use while it is live or claimed, and only its claimant makes it live.
// So recovery clears the bytes of an ended process without knowing which record is live.

export const NONE = -1;
const BYTE: i64 = 0xff;

function shiftOf(index: i32): i64 {
  return (index as i64) << 3;
}

/**
 * Claims the next free record after that of `live`, so that a freed record is reused late. NONE if
 * there is none, or another thread was faster. The record may have gone live since: look again.
 */
export function claimAfter(live: i32, claimsAt: usize): i32 {
  const claims = load64(claimsAt);
  for (let step = 1; step < RECORD_COUNT; step++) {
    const index = (live + step) & INDEX_MASK;
    if (((claims >> shiftOf(index)) & BYTE) != NO_HOLDER) continue;
    const claimed = claims | ((holder as i64) << shiftOf(index));
    return exchange64(claimsAt, claims, claimed) == claims ? index : NONE;
  }
  return NONE;
}

/** Claims a record of a cell whose word names the live one. */
export function claimRecord(cell: usize, claimsAt: usize, attempts: i32): i32 {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const index = claimAfter(load64(cell + CELL_word) as i32, claimsAt);
    if (index == NONE) continue;
    if (((load64(cell + CELL_word) as i32) & INDEX_MASK) != index) return index;
    release(claimsAt, index);
  }
  return NONE;
}

/** Ends a claim. By now the record is live or free. */
export function release(claimsAt: usize, index: i32): void {
  and64(claimsAt, ~(BYTE << shiftOf(index)));
}
