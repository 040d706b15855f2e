import { add32, bitsOf, exchange32, exchange64, load32, load64 } from './accesses';
import {
  CELL_word,
  CLAIM_BITS,
  CLAIM_COUNT_SHIFT,
  INDEX_MASK,
  RECORD_COUNT,
  TAKEOVER_MASK,
} from './constants';

// Claims of configuration records:
//
//     claims     │ claims so far: 28 bits │ takeovers: 28 bits │ claimed: a bit for each record │
//
// Invariant: a record is in use while it is live or claimed, and only its claimant writes it and
// makes it live. The claim of a thread that stands still is taken over together with all others,
// which counts a takeover. So a claimant looks at the count before each store into its record, and
// before the exchange that makes it live; if it has lost its claim, it claims another record.
// docs/algorithm.md proves this.

export const NONE = -1;

/** The claims of the cell in which this thread claimed a record last, and the takeovers by then. */
let at: usize = 0;
let takeovers: i64 = 0;

function takeoversOf(claims: i64): i64 {
  return (claims >> CLAIM_BITS) & TAKEOVER_MASK;
}

function bitOf(index: i32): i64 {
  return (1 as i64) << (index as i64);
}

/**
 * Claims the next free record after that of `live`, so that a freed record is reused late. NONE if
 * there is none, or another thread was faster. The record may have gone live since: look again.
 */
export function claimAfter(live: i32, claimsAt: usize): i32 {
  const claims = load64(claimsAt);
  for (let step = 1; step < RECORD_COUNT; step++) {
    const index = (live + step) & INDEX_MASK;
    if ((claims & bitOf(index)) != 0) continue;
    const claimed = (claims | bitOf(index)) + ((1 as i64) << CLAIM_COUNT_SHIFT);
    if (exchange64(claimsAt, claims, claimed) != claims) return NONE;
    at = claimsAt;
    takeovers = takeoversOf(claims);
    return index;
  }
  return NONE;
}

/** Claims a record of a cell whose word names the live one. */
export function claimRecord(cell: usize, claimsAt: usize, attempts: i32): i32 {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const index = claimAfter(load64(cell + CELL_word) as i32, claimsAt);
    if (index == NONE) continue;
    if (((load64(cell + CELL_word) as i32) & INDEX_MASK) != index) return index;
    release(index);
  }
  return NONE;
}

/** Lets this thread write a record of a cell that no other thread can see yet. */
export function claimUnseen(claimsAt: usize): void {
  at = claimsAt;
  takeovers = takeoversOf(load64(claimsAt));
}

/** The next epoch of a cell's records, never 0. `at`: the number of those before. */
export function nextEpoch(at: usize): i32 {
  while (true) {
    const epoch = (add32(at, 1) + 1) & 0x7fffffff;
    if (epoch != 0) return epoch;
  }
}

/** Makes the claimed record live by an exchange of its cell's word; false if one was faster. */
export function publishRecord(cell: usize, word: i64, next: i64): bool {
  return isClaimed() && exchange64(cell + CELL_word, word, next) == word;
}

/** Whether the last claim has not been taken over. */
export function isClaimed(): bool {
  return takeoversOf(load64(at)) == takeovers;
}

/** Ends the last claim, unless it was taken over. By now the record is live or free. */
export function release(index: i32): void {
  while (true) {
    const claims = load64(at);
    if (takeoversOf(claims) != takeovers) return;
    if (exchange64(at, claims, claims & ~bitOf(index)) == claims) return;
  }
}

// Stores into the claimed record. Each is an exchange, which fails if this thread has stood still
// since it looked at its claim, and another one has given the field a new value.

export function put32(to: usize, value: i32): void {
  while (true) {
    const before = load32(to);
    if (!isClaimed() || exchange32(to, before, value) == before) return;
  }
}

export function putI64(to: usize, value: i64): void {
  while (true) {
    const before = load64(to);
    if (!isClaimed() || exchange64(to, before, value) == before) return;
  }
}

export function putF64(to: usize, value: f64): void {
  putI64(to, bitsOf(value));
}
