import { add64, load64 } from '../accesses';
import { joined } from '../arithmetic';
import {
  CROWDED,
  DAMAGED,
  KEYED_shared,
  LATER,
  NO_PLACE,
  RACK_PLACES,
  WHEN_FULL_admit,
  WHEN_FULL_share,
} from '../constants';
import { openChanges } from '../keyed/change';
import { beginClaims, openClaims } from '../keyed/claim';
import { ANY, chargeShared, look, lookAtShared, openCharges } from './charge';
import { count, learnAll, openAllLimits, useLimit } from './limits';
import { openSlots, restSpare, takeSpare } from './slot';
import { copyNobody, heldUnder } from './survey';
import { openStates } from './state';
import { learnLimit, openLimits, originTicks } from '../keyed/limits';
import { nowTicks, setInstant } from '../keyed/state';
import { countAbove, endOfTable, openTable, seek } from '../keyed/table';
import { costOf, originUs, ticksPerMicro, tokensOf, untilHeld } from '../bucket/limit';
import { beginRaces, failBecause, failed } from '../results';

// A table whose keys have several limits: opening and looking. keyed-composite/take.ts and
// keyed-composite/return.ts change it. It works as keyed.ts does for one limit, but keys without a
// place share an extra entry, so no call needs another bucket. Failures are CROWDED and DAMAGED.

let table: usize = 0;
export let whenFull: i32 = 0;

export function open(
  cell: usize,
  entries: i32,
  full: i32,
  records: usize,
  limits: i32,
  patience: i32,
  rack: usize,
  slots: usize,
): bool {
  table = cell;
  whenFull = full;
  const total = entries + 1 + RACK_PLACES;
  openTable(cell, entries);
  openCharges(endOfTable());
  openSlots(rack, slots, total, limits);
  openStates(total);
  openClaims(cell, patience);
  openLimits(cell, records, limits);
  openAllLimits(cell, limits);
  openChanges(cell);
  return learnAll();
}

/** Starts a call; false if no slot is free, or the limits are invalid. */
export function begin(high: u32, low: u32, nowUs: f64): bool {
  seek(high, low);
  beginClaims();
  beginRaces();
  failBecause(DAMAGED);
  if (!learnAll()) return false;
  setInstant(nowUs);
  if (takeSpare()) return true;
  failBecause(CROWDED);
  return false;
}

export function end(result: f64): f64 {
  restSpare();
  return result;
}

export function countPlaceless(): void {
  add64(table + KEYED_shared, 1);
}

/** The answer for a key without a place. */
export function withoutPlace(): f64 {
  countPlaceless();
  if (whenFull == WHEN_FULL_share) return chargeShared(ANY);
  return whenFull == WHEN_FULL_admit ? 0 : LATER;
}

/** Copies the contents of a key with or without a place: 0 or DAMAGED. */
export function lookAnyway(): f64 {
  const answer = look();
  return answer == NO_PLACE ? lookWithoutPlace() : answer;
}

export function lookWithoutPlace(): f64 {
  if (whenFull == WHEN_FULL_share) return lookAtShared();
  copyNobody(whenFull == WHEN_FULL_admit);
  return 0;
}

/** The fewest tokens under any limit, negative in debt; NaN after a failure. */
export function balance(high: u32, low: u32, nowUs: f64): f64 {
  if (!begin(high, low, nowUs)) return NaN;
  if (lookAnyway() == DAMAGED) return end(NaN);
  let least = Infinity;
  for (let i = 0; i < count; i++) {
    useLimit(i);
    least = min(least, tokensOf(heldUnder(i) as f64));
  }
  return end(least);
}

export function timeUntil(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  if (lookAnyway() == DAMAGED) return end(DAMAGED);
  let longest: f64 = 0;
  for (let i = 0; i < count; i++) {
    useLimit(i);
    longest = max(longest, untilHeld(nowUs, heldUnder(i) as f64, costOf(tokens) as f64));
  }
  return end(longest);
}

/** The instant at which tokens promised for a tick are due. */
export function dueUs(tickLow: i32, tickHigh: i32): f64 {
  learnLimit();
  const ticks = joined(tickLow, tickHigh) - originTicks;
  return originUs + (ticks as f64) / ticksPerMicro;
}

/** The number of buckets that are not full. */
export function entriesInUse(nowUs: f64): i32 {
  if (!learnAll()) return 0;
  setInstant(nowUs);
  return countAbove(nowTicks);
}

/** The number of calls whose key found no place. */
export function placeless(): f64 {
  return load64(table + KEYED_shared) as f64;
}
