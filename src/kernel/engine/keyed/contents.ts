import { add64, exchange64, readI64 } from '../accesses';
import { unitsAfter, usOfUnits } from '../arithmetic';
import {
  capTicks,
  carryIndex,
  fillTicks,
  keepOrigin,
  nearestTick,
  newCapTicks,
  newLimit,
  originUs,
  placeOrigin,
  ticksPerMicro,
  ticksPerToken,
  useKept,
  writeLimit as writeNewLimit,
} from '../bucket/limit';
import { put32, putF64, putI64 } from '../claim';
import {
  AGAIN,
  BLOCK_BITS,
  FREE,
  INDEX_BITS,
  INDEX_MASK,
  KEYED_LIMIT_rest,
  KEYED_RECORD_before,
  KEYED_RECORD_sinceUs,
  KEYED_ticketBlocks,
  TABLE_SPAN_TICKS,
  TAG_BITS,
  TRANSIT,
  ZERO_TIME_SHIFT,
} from '../constants';
import { read } from './limits';
import { isInForce, know, known, limitIn, recordOf, sinceOf, UNKNOWN } from './records';
import { broughtUpOfOther, isOurs, restAfter, restNow, stateBroughtUp, tierOf } from './state';
import { cell, STATE } from './table';

// The contents of a table's entries whose keys have one limit: a zero-time in the state word, or a
// ticket that is never reused; and what a change of the limits writes. limit-set/contents.ts replaces
// this file in the module of limit sets.

export { learnLimit as learn } from './limits';

let ticket: i64 = 0;
let ticketsLeft: i32 = 0;

/** Whether an entry has no owner. */
export function isUnused(state: i64): bool {
  return state == 0 || state == FREE;
}

/** The instant, in units, from which a live bucket holds what an unused one does. */
// biome-ignore lint/correctness/noUnusedFunctionParameters: the other form needs the entry
export function fullAt(entry: usize, state: i64): i64 {
  // Later than this call is never early enough.
  if (isOurs(state) && state >> ZERO_TIME_SHIFT > restNow()) return i64.MAX_VALUE;
  const zeroTime = broughtUpOfOther(state);
  const rest = readI64(limitIn(recordOf(known), tierOf(state)) + KEYED_LIMIT_rest);
  const units = fullUnits(zeroTime, rest);
  useKept();
  // A state that is read after a change may count under limits that this call does not know.
  return isInForce() ? units : i64.MAX_VALUE;
}

function fullUnits(zeroTime: i64, rest: i64): i64 {
  if (zeroTime <= rest || ticksPerToken == 0) return unitsAfter(sinceOf(recordOf(known)));
  const tick = (fillTicks < 1 ? zeroTime + capTicks : fullFill(zeroTime)) as f64;
  const units = unitsAfter(originUs + tick / ticksPerMicro);
  // The sum may have been rounded down.
  return nearestTick(usOfUnits(units)) >= tick ? units : units + 1;
}

/** The start of the window before which all of a count is over. */
function fullFill(zeroTime: i64): i64 {
  const fill = fillTicks as i64;
  const place = zeroTime / fill;
  return (place * fill < zeroTime ? place + 2 : place + 1) * fill;
}

/** The state in which a thread takes an entry. No state recurs. */
// biome-ignore lint/correctness/noUnusedFunctionParameters: the other form needs them
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
// biome-ignore lint/correctness/noUnusedFunctionParameters: the other form needs the state
export function freed(state: i64): i64 {
  return FREE;
}

// A change of the limits.

/** The instant of the change, and the number of its record. */
let changeUs: f64 = 0;
let version: i32 = 0;

/** Starts a claimed record that is to follow that of a word, as of an instant. */
export function beginRecord(record: usize, before: i32, nowUs: f64): void {
  changeUs = nowUs;
  version = (before >> INDEX_BITS) + 1;
  putF64(record + KEYED_RECORD_sinceUs, nowUs);
  put32(record + KEYED_RECORD_before, before & INDEX_MASK);
}

/** Writes a limit that follows one of another record. False if one of the two is invalid. */
export function writeLimit(
  tier: i32,
  before: usize,
  record: usize,
  pace: f64,
  burst: f64,
  perToken: f64,
  fill: f64,
): bool {
  const from = limitIn(before, tier);
  const to = limitIn(record, tier);
  // The next call reads its limit again.
  know(UNKNOWN);
  const isSound = read(from);
  newLimit(pace, burst, perToken, fill);
  // The grid of windows stays.
  if (fill == 0) placeOrigin(changeUs, version);
  else keepOrigin();
  carryIndex(changeUs, 0);
  writeNewLimit(to);
  putI64(to + KEYED_LIMIT_rest, restAfter(readI64(from + KEYED_LIMIT_rest), changeUs));
  return isSound && newCapTicks <= TABLE_SPAN_TICKS;
}

/** Brings a live entry up to the limits in force: 0, or AGAIN if they or the entry have changed. */
export function bringUpLive(entry: usize, state: i64): i32 {
  if (!isInForce()) return AGAIN;
  const next = stateBroughtUp(state);
  return next == state || exchange64(entry + STATE, state, next) == state ? 0 : AGAIN;
}

/** Ends a call with a result. */
export function end(result: f64): f64 {
  return result;
}
