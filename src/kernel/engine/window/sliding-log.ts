import { exchange64, load64 } from '../accesses';
import { highOf, joined } from '../arithmetic';
import { CELL_word, INDEX_BITS, INDEX_MASK, WINDOW_ring } from '../constants';
import { word as known } from '../results';
import {
  AGAIN,
  bitsIn,
  intervalIn,
  knownBits,
  knownLimit,
  knownRecord,
  leaveNext,
  leaveState,
  leaveWait,
  limitIn,
  nextWord,
  originIn,
  recordOf,
  replaceRecord,
  ticksAt,
  UNDECIDED,
  until,
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
// With C-bit counts the head repeats after 2^(61 - 2C) laps, at least 2^11. One takes an interval or
// more, or half a change.
//
// A head that is loaded after the clock is read will do, unless entries before it are unwritten or
// later than that reading: a thread that helps must not write a time before the stalled call.
//
// An entry is a time in ticks and one bit, its mark, which flips with every lap of the ring. The
// mark shows whether the entry was written in this lap, so times need not differ: n admissions at
// one instant are n equal entries.
//
// The entries of one operation are written in order, by any thread, so if the last one is written,
// all are.

function placeAt(cell: usize, index: i32): usize {
  return cell + WINDOW_ring + (index as usize) * 8;
}

/** The entry `offset` places after `index`; `offset` is 0 to `places - 1`. */
function entryAt(cell: usize, places: i32, index: i32, offset: i32): i64 {
  const at = index + offset;
  return load64(placeAt(cell, at < places ? at : at - places));
}

function timeOf(entry: i64): f64 {
  return ((entry as u64) >> 1) as i64 as f64;
}

/** The number of entries no later than `tick` among the `most` from `offset` on. */
function countUntil(cell: usize, places: i32, tick: f64, oldest: i32, offset: i32, most: i32): i32 {
  let low = 0;
  let high = most;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (timeOf(entryAt(cell, places, oldest, offset + middle)) <= tick) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Replaces an entry of the previous lap. Returns the time of its successor. */
function writeEntry(cell: usize, index: i32, old: i64, mark: i32, time: f64): f64 {
  const entry = ((time as i64) << 1) | (mark as i64);
  const seen = exchange64(placeAt(cell, index), old, entry);
  // If the exchange failed, another thread has written this entry with its own time.
  return ((seen as i32) & 1) == mark ? timeOf(seen) : time;
}

/**
 * Writes the unwritten entries among the `count` from `start` on, and returns the time of the last.
 * All entries of an operation have the time of the first: `first` if that is unwritten.
 */
function write(
  cell: usize,
  places: i32,
  head: i64,
  start: i32,
  mark: i32,
  count: i32,
  first: f64,
): f64 {
  let time = first;
  let at = start;
  let atMark = mark;
  for (let left = count; left > 0; left--) {
    const old = load64(placeAt(cell, at));
    if (((old as i32) & 1) == atMark) {
      time = timeOf(old);
    } else {
      // If this thread stalled before it loaded the entry, the entry may belong to a later lap.
      if (load64(cell + CELL_word) != head) return time;
      time = writeEntry(cell, at, old, atMark, time);
    }
    at++;
    if (at == places) {
      at = 0;
      atMark = 1 - atMark;
    }
  }
  return time;
}

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

/** Whether the entries before a head are written; `newest` is the last of them. */
function isWritten(newest: i64, index: i32, mark: i32, pending: i32): bool {
  const lastMark = index == 0 ? 1 - mark : mark;
  // A new log has no entries and nothing pending.
  return pending == 0 || ((newest as i32) & 1) == lastMark;
}

/** Writes the unwritten entries of the `pending` before `index`; returns the time of the last. */
function settle(
  cell: usize,
  limit: i32,
  places: i32,
  interval: f64,
  head: i64,
  index: i32,
  mark: i32,
  pending: i32,
  ticks: f64,
): f64 {
  const newest = entryAt(cell, places, index, places - 1);
  if (isWritten(newest, index, mark, pending)) return timeOf(newest);
  const wraps = index < pending;
  const start = wraps ? index - pending + places : index - pending;
  const before = timeOf(entryAt(cell, places, start, places - 1));
  const decisive = timeOf(entryAt(cell, places, start, places - limit + pending - 1));
  const earliest = max(max(ticks, before), decisive + interval);
  return write(cell, places, head, start, wraps ? 1 - mark : mark, pending, earliest);
}

// What an admission needs after its exchange.
/** The time of its entries, unless another thread writes them; that of the newest without any. */
let time: f64 = 0;
/** The entry that its first one replaces, read before the exchange: of the previous lap. */
let old: i64 = 0;
/** The tokens available, and the time of the oldest entry that then counts. */
let room: i32 = 0;
let following: f64 = Infinity;

/** Decides on a head at a reading: returns the tokens to take, AGAIN or UNDECIDED. */
export function logDecide(
  cell: usize,
  places: i32,
  head: i64,
  nowUs: f64,
  least: i32,
  most: i32,
  withState: bool,
  isEarlier: bool,
): i32 {
  const record = knownRecord;
  const bits = knownBits;
  const limit = knownLimit;
  const interval = intervalIn(record);
  const origin = originIn(record);
  const ticks = ticksAt(nowUs, origin);
  const due = ticks - interval;
  // The oldest of the last `limit` entries.
  const oldest = places - limit;
  const low = head as i32;
  const high = highOf(head);
  const index = indexOf(high, bits);
  const pending = pendingOf(low, bits);
  // An index past the ring would read memory outside the log.
  if (index >= places || pending > limit || limit > places) return UNDECIDED;
  const mark = markOf(high, bits);
  if (!isEarlier) {
    const newest = entryAt(cell, places, index, places - 1);
    const isLater = !isWritten(newest, index, mark, pending) || timeOf(newest) > ticks;
    if (withState || isLater) return AGAIN;
  }
  const last = settle(cell, limit, places, interval, head, index, mark, pending, ticks);
  // One entry decides: the newest of the `least` oldest.
  let entry: i64 = 0;
  let decisive: f64 = Infinity;
  if (least > 0 && least <= limit) {
    entry = entryAt(cell, places, index, oldest + least - 1);
    decisive = timeOf(entry);
  }
  let available = 0;
  if (withState) available = countUntil(cell, places, due, index, oldest, limit);
  else if (decisive <= due) {
    available =
      least == most ? most : countUntil(cell, places, due, index, oldest, min(most, limit));
  }
  const taken = available >= most ? most : available >= least ? available : 0;
  if (withState) {
    room = available;
    // When the oldest admission that counts ends; without any, a new one is the oldest.
    following =
      available < limit ? timeOf(entryAt(cell, places, index, oldest + available)) : Infinity;
  }
  if (taken < least) leaveWait(until(decisive + interval, nowUs, origin));
  if (taken == 0) {
    time = last;
    leaveNext(head);
  } else {
    // That is an interval after the decisive entry, as `settle` would make it.
    time = max(ticks, last);
    // It may be the decisive entry.
    old = oldest + least == 1 ? entry : entryAt(cell, places, index, 0);
    leaveNext(afterTaking(low, high, places, bits, taken));
  }
  return taken;
}

/** After the exchange of a head, writes the entries of the admission, and leaves the state. */
export function logWrite(
  cell: usize,
  places: i32,
  head: i64,
  nowUs: f64,
  taken: i32,
  withState: bool,
): void {
  let last = time;
  if (taken != 0) {
    const index = indexOf(highOf(head), knownBits);
    const mark = markOf(highOf(head), knownBits);
    last = writeEntry(cell, index, old, mark, time);
    following = min(following, last);
    if (taken > 1) last = writeRest(cell, places, nextWord, index, mark, taken, last);
  }
  if (!withState) return;
  const interval = intervalIn(knownRecord);
  const origin = originIn(knownRecord);
  const fullUs = max<f64>(0, until(last + interval, nowUs, origin));
  leaveState(room - taken, knownLimit, fullUs, until(following + interval, nowUs, origin));
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

/** Attempts once to put a new limit in force, on the head that was looked at. */
export function logReconfigureAt(
  cell: usize,
  places: i32,
  nowUs: f64,
  newLimit: i32,
  newIntervalMs: f64,
): i32 {
  const head = known;
  const live = recordOf(cell, head);
  const bits = bitsIn(live);
  const limit = limitIn(live);
  const origin = originIn(live);
  const low = head as i32;
  const high = highOf(head);
  const index = indexOf(high, bits);
  const pending = pendingOf(low, bits);
  if (index >= places || pending > limit || limit > places) return UNDECIDED;
  const ticks = ticksAt(nowUs, origin);
  settle(cell, limit, places, intervalIn(live), head, index, markOf(high, bits), pending, ticks);
  const next = advanced(low, high, bits, 2 << bits, 0);
  return replaceRecord(cell, head, next, false, bits, newLimit, newIntervalMs, origin, 0, 0, 1);
}
