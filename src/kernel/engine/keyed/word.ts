import { add64, readI64 } from '../accesses';
import { unitsAfter, usOfUnits } from '../arithmetic';
import {
  capTicks,
  fillTicks,
  nearestTick,
  originUs,
  ticksPerMicro,
  ticksPerToken,
  useKept,
} from '../bucket/limit';
import {
  BLOCK_BITS,
  FREE,
  KEYED_LIMIT_rest,
  KEYED_ticketBlocks,
  TAG_BITS,
  TRANSIT,
  ZERO_TIME_SHIFT,
} from '../constants';
import { isInForce, known, limitIn, recordOf, sinceOf } from './limits';
import { broughtUpOfOther, isOurs, restNow, tierOf } from './state';

// State words of a table whose keys have one limit: a zero-time, or a ticket that is never reused.
// limit-set/word.ts replaces this file in the module of limit sets.

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

/** The instant, in units, from which a live bucket holds what an unused one does. */
// biome-ignore lint/correctness/noUnusedFunctionParameters: the other form of word needs the entry
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
