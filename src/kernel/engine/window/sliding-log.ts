import { NONE } from '../claim';
import { exchange64, load64 } from '../accesses';
import {
  CELL_word,
  INDEX_BITS,
  INDEX_MASK,
  WINDOW_OUTCOME_again,
  WINDOW_OUTCOME_busy,
  WINDOW_OUTCOME_changed,
  WINDOW_OUTCOME_damaged,
} from '../constants';
import { countUntil, entryAt, settle, timeOf, write, writeEntry } from './sliding-log-ring';
import { beginRaces, loseRace } from '../results';
import { leaveSurvey, leaveWait, ticksAt, until } from '.';
import { joined } from '../arithmetic';
import {
  claimWindowRecord,
  isInForce,
  nextWindowGeneration,
  publishWindowRecord,
  writeWindowRecord,
} from './record';

// A ring holds the times of the last admissions, in as many places as the log's largest limit, and
// a word (the head) holds the position of the oldest. The next n admissions take the places of the
// n oldest:
//
//     take     head: (position, -) -> (position + n, pending n)
//     write    ring[position .. position + n - 1]: each from its old entry to the new time
//
// The exchange on the head admits all n or none. If the writing thread stalls or is terminated, the
// next thread writes the pending entries first, with its own time. The stalled call has not
// returned, so that time is within the call. Each place is written once per lap: the exchange
// expects the old entry, and no entry recurs, because its time grows by at least an interval with
// each lap.
//
// At most `limit` in any half-open interval: an admission requires the entry `limit` positions
// before it to be at least an interval old, by a clock that is read after the head is loaded and
// before its exchange. The exchange finds the head unchanged, so that entry was unchanged too. No
// entry is earlier than the clock reading of its admission, and entries never decrease from one
// position to the next. So among any `limit + 1` admissions, the clock reading of the last is at
// least an interval after that of the first.
//
// A change of the limit alters nothing in the ring: the new limit and interval are compared with
// the same times. Pending entries are written first, so they belong to the record that the head
// names. The lap grows by 2, so the head does not recur and the marks keep their meaning.
//
// With C-bit counts the head repeats after 2^(61 - 2C) laps, at least 2^13, of an interval or more.
//
const AGAIN: i32 = WINDOW_OUTCOME_again as i32;
const BUSY: i32 = WINDOW_OUTCOME_busy as i32;
const CHANGED: i32 = WINDOW_OUTCOME_changed as i32;
const DAMAGED: i32 = WINDOW_OUTCOME_damaged as i32;

/** The head with `more` added to its upper half, with the carry, and with `lowest` as its low bits. */
function advanced(low: i32, high: i32, bits: i32, more: u32, lowest: i32): i64 {
  const sum = (high as u32) + more;
  const at = bits + (INDEX_BITS as i32);
  const lapHigh = (low >>> at) + i32(sum < more);
  return joined((lapHigh << at) | lowest, sum as i32);
}

/** The head after `taken` more admissions. */
function afterTaking(low: i32, high: i32, places: i32, bits: i32, taken: i32): i64 {
  const isLapOver = indexOf(high, bits) + taken >= places;
  const more = isLapOver ? taken + (1 << bits) - places : taken;
  return advanced(low, high, bits, more, (taken << INDEX_BITS) | (low & (INDEX_MASK as i32)));
}

function indexOf(high: i32, bits: i32): i32 {
  return high & ((1 << bits) - 1);
}

function pendingOf(low: i32, bits: i32): i32 {
  return (low >>> INDEX_BITS) & ((1 << bits) - 1);
}

/** The mark of this lap's entries: 1 in lap 0, because a new ring is all zeros. */
function markOf(high: i32, bits: i32): i32 {
  return 1 - ((high >>> bits) & 1);
}

/** One attempt on a head that was loaded before the clock was read. */
export function logTakeAt(
  cell: usize,
  generation: i32,
  limit: i32,
  places: i32,
  bits: i32,
  intervalTicks: f64,
  originTicks: f64,
  low: i32,
  high: i32,
  nowUs: f64,
  least: i32,
  most: i32,
  survey: bool,
): i32 {
  beginRaces();
  const head = joined(low, high);
  if (!isInForce(cell, head, generation)) return CHANGED;
  const index = indexOf(high, bits);
  const pending = pendingOf(low, bits);
  // An index past the ring would read memory outside the log.
  if (index >= places || pending > limit) return DAMAGED;
  const mark = markOf(high, bits);
  const ticks = ticksAt(nowUs, originTicks);
  let last = settle(cell, limit, places, intervalTicks, head, index, mark, pending, ticks);
  const due = ticks - intervalTicks;
  // The oldest of the last `limit` entries.
  const oldest = places - limit;
  // One entry decides: the newest of the `least` oldest.
  let entry: i64 = 0;
  let decisive: f64 = Infinity;
  if (least > 0 && least <= limit) {
    entry = entryAt(cell, places, index, oldest + least - 1);
    decisive = timeOf(entry);
  }
  let room = 0;
  if (survey) room = countUntil(cell, places, due, index, oldest, limit);
  else if (decisive <= due) {
    room = least == most ? most : countUntil(cell, places, due, index, oldest, min(most, limit));
  }
  const taken = room >= most ? most : room >= least ? room : 0;
  if (taken < least) leaveWait(until(decisive + intervalTicks, nowUs, originTicks));
  if (taken == 0) {
    // The entries belong to this head only if it is unchanged.
    if (load64(cell + CELL_word) != head) return AGAIN;
  } else {
    // Read before the exchange, so it is from the previous lap. It may be the decisive entry.
    const first = oldest + least == 1 ? entry : entryAt(cell, places, index, 0);
    const next = afterTaking(low, high, places, bits, taken);
    if (exchange64(cell + CELL_word, head, next) != head) {
      loseRace();
      return AGAIN;
    }
    // That is an interval after the decisive entry, as `settle` would make it.
    last = writeEntry(cell, index, first, mark, max(ticks, last));
    if (taken > 1) last = writeRest(cell, places, next, index, mark, taken, last);
  }
  if (survey) {
    leaveSurvey(room - taken, max<f64>(0, until(last + intervalTicks, nowUs, originTicks)));
  }
  return taken;
}

/** Writes the entries of an admission after its first, which has been written. */
function writeRest(
  cell: usize,
  places: i32,
  head: i64,
  index: i32,
  mark: i32,
  taken: i32,
  time: f64,
): f64 {
  const wraps = index + 1 == places;
  return write(cell, places, head, wraps ? 0 : index + 1, wraps ? 1 - mark : mark, taken - 1, time);
}

/** One attempt to put a new limit in force, on a head that was loaded before the clock was read. */
export function logReconfigureAt(
  cell: usize,
  generation: i32,
  limit: i32,
  places: i32,
  bits: i32,
  intervalTicks: f64,
  originTicks: f64,
  low: i32,
  high: i32,
  nowUs: f64,
  newLimit: i32,
  newIntervalMs: f64,
): i32 {
  const head = joined(low, high);
  if (!isInForce(cell, head, generation)) return CHANGED;
  const index = indexOf(high, bits);
  const pending = pendingOf(low, bits);
  // An index past the ring would read memory outside the log.
  if (index >= places || pending > limit) return DAMAGED;
  const mark = markOf(high, bits);
  const ticks = ticksAt(nowUs, originTicks);
  settle(cell, limit, places, intervalTicks, head, index, mark, pending, ticks);
  const record = claimWindowRecord(cell);
  if (record == NONE) return BUSY;
  const newGeneration = nextWindowGeneration(cell);
  writeWindowRecord(cell, record, newGeneration, bits, newLimit, newIntervalMs, originTicks, 0, 0);
  const next = advanced(low, high, bits, 2 << bits, record);
  return publishWindowRecord(cell, head, next, record);
}
