import { exchange64, load64, store32, writeF64, writeI64 } from './accesses';
import { ticksUp } from './arithmetic';
import { claimUnseen, putF64, putI64 } from './claim';
import {
  KEYED_claims,
  KEYED_live,
  KEYED_RECORD_sinceUs,
  KEYED_swept,
  RECORD_COUNT,
  SET_LIMIT_rest,
  SET_SLOT_chargedUs,
  SET_SLOT_holding,
  SET_SLOT_lastUs,
} from './constants';
import { openCalls } from './keyed/calls';
import { openClaims } from './keyed/claim';
import { freed } from './keyed/contents';
import { known, limitIn, openRecords, recordOf } from './keyed/records';
import { BYTES, isHeld, isLive, openTable, shared, start, STATE } from './keyed/table';
import { costOf, fill, learn, live, priceOf } from './limit-set/record';
import {
  leave,
  openSlots,
  openStates,
  slotAt,
  slotOf,
  stateAfter,
  zeroTimeAt,
} from './limit-set/slot';

// The module for limit sets, keyed and not. A set without keys has no entry but the shared one, which
// also serves keys without a place. docs/algorithms-limit-sets.md explains and proves the protocol.

/** Turns to a cell; false if its limits are invalid. */
export function open(
  table: usize,
  entries: i32,
  full: i32,
  records: usize,
  limits: i32,
  retryLimit: i32,
  list: usize,
  places: i32,
  slots: usize,
  slotBytes: usize,
): bool {
  openCalls(full);
  openTable(table, entries);
  const total = entries + 1 + places;
  openSlots(table, list, places, slots, total, slotBytes, limits);
  openStates(total);
  openClaims(retryLimit);
  openRecords(records, limits);
  return learn();
}

/** Puts the first record in force, in cleared memory. */
export function lay(cell: usize): void {
  store32(cell + KEYED_live, RECORD_COUNT);
  store32(cell + KEYED_swept, RECORD_COUNT);
}

/** Writes a limit of a new set, in cleared memory. Its flow at rate 0 is 1. */
export function layLimit(
  cell: usize,
  i: i32,
  nowUs: f64,
  rate: f64,
  burst: f64,
  perToken: f64,
): void {
  claimUnseen(cell + KEYED_claims);
  const at = limitIn(recordOf(0), i);
  fill(at, rate, burst, perToken, rate > 0 ? rate : 1);
  putI64(at + SET_LIMIT_rest, -ticksUp(burst, perToken));
  putF64(recordOf(0) + KEYED_RECORD_sinceUs, nowUs);
}

/** Lets the shared entry hold `initial` tokens under a limit, in cleared memory. */
export function fillShared(i: i32, initial: f64): void {
  const slot = slotAt(slotOf(shared, 0));
  const limit = limitIn(live, i);
  writeI64(slot + SET_SLOT_holding, known as i64);
  writeF64(slot + SET_SLOT_lastUs, -Infinity);
  writeF64(slot + SET_SLOT_chargedUs, -Infinity);
  writeI64(zeroTimeAt(slot, i), -costOf(initial, priceOf(limit)));
}

/**
 * Changes the state of every entry, but none of its contents, so that no exchange succeeds that was
 * prepared before.
 */
export function fence(): void {
  for (let entry = start; entry <= shared; entry += BYTES) {
    while (true) {
      const state = load64(entry + STATE);
      const isEntryLive = entry == shared || isLive(state);
      if (!isEntryLive && !isHeld(state)) break;
      const slot = slotOf(entry, state);
      const next = isEntryLive ? stateAfter(state, slot, 1) : freed(state);
      if (exchange64(entry + STATE, state, next) == state) break;
    }
  }
}

/** Drops the state of a region, before the instance turns to another. */
export function leaveRegion(): void {
  leave();
}

export {
  acquire,
  balance,
  block,
  charge,
  decide,
  drain,
  entriesInUse,
  reset,
  returnTokens,
  timeUntil,
} from './keyed/calls';
export { holdAs } from './limit-set/slot';
export { reclaimed } from './keyed/claim';
export { longestProbe, placeless } from './keyed/table';
export { beginChange, publishChange, putLimit } from './keyed/change';
export {
  addedHigh,
  addedLow,
  cancel,
  dueUs,
  indexHigh,
  indexLow,
  limitsWord,
  movedUs,
  promiseAnchor,
  promiseVirtual,
  receiptTokens,
  stage,
  wasDue,
} from './limit-set/return';
export { failure, failedExchanges, receiptEntry, receiptVersion } from './results';
