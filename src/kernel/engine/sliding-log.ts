import { exchange64, load64 } from './accesses';
import { CELL_word, WINDOW_OUTCOME_again, WINDOW_OUTCOME_damaged, WINDOW_ring } from './constants';
import { beginRaces, loseRace } from './results';
import { leaveSurvey, leaveWait, ticksAt, until } from './window';
import { joined } from './arithmetic';

// A ring holds the times of the last `limit` admissions, and a word (the head) holds the position
// of the oldest. The next n admissions take the places of the n oldest:
//
//     take     head: (position, -) -> (position + n, pending n)
//     write    ring[position .. position + n - 1]: each from its old entry to the new time
//
// The exchange on the head admits all n or none. If the writing thread stalls or is terminated, the
// next thread writes the pending entries first, with its own time. The stalled call has not
// returned, so that time lies within the call. Each place is written once per lap: the exchange
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
// With C-bit counts the head repeats after 2^(64 - 2C) laps, at least 2^14, of an interval or more.
//
// An entry is a time in ticks and one bit, its mark, which flips with every lap of the ring. The
// mark shows whether the entry was written in this lap, so times need not differ: n admissions at
// one instant are n equal entries.
//
// The entries of one operation are written in order, by any thread, so if the last one is written,
// all are.

const AGAIN: i32 = WINDOW_OUTCOME_again as i32;
const DAMAGED: i32 = WINDOW_OUTCOME_damaged as i32;

/** The entry `offset` places after `index`; `offset` is 0 to `limit - 1`. */
function entryAt(cell: usize, limit: i32, index: i32, offset: i32): i64 {
  const at = index + offset;
  return load64(cell + WINDOW_ring + ((at < limit ? at : at - limit) as usize) * 8);
}

function timeAt(cell: usize, limit: i32, index: i32, offset: i32): i64 {
  return timeOf(entryAt(cell, limit, index, offset));
}

function timeOf(entry: i64): i64 {
  return ((entry as u64) >> 1) as i64;
}

/** The number of entries no later than `tick` among the `most` oldest. */
function countUntil(cell: usize, limit: i32, tick: i64, oldest: i32, most: i32): i32 {
  let low = 0;
  let high = most;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (timeAt(cell, limit, oldest, middle) <= tick) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Writes the unwritten entries among the `count` from `start` on, and returns the time of the last;
 * `newest` is the time of the entry before them.
 */
function write(
  cell: usize,
  limit: i32,
  interval: i64,
  head: i64,
  start: i32,
  mark: i32,
  count: i32,
  ticks: i64,
  newest: i64,
): i64 {
  let last = newest;
  let at = start;
  let atMark: i64 = mark;
  for (let left = count; left > 0; left--) {
    const place = cell + WINDOW_ring + (at as usize) * 8;
    const old = load64(place);
    let time = timeOf(old);
    if ((old & 1) != atMark) {
      // All entries of an operation have the time of the first.
      time = last;
      if (left == count) {
        time = max(max(ticks, newest), timeAt(cell, limit, start, count - 1) + interval);
      }
      // If this thread stalled before it loaded the entry, the entry may belong to a later lap.
      if (load64(cell + CELL_word) != head) return last;
      const seen = exchange64(place, old, (time << 1) | atMark);
      // If the exchange failed, another thread has written this entry with its own time.
      if ((seen & 1) == atMark) time = timeOf(seen);
    }
    last = time;
    at++;
    if (at == limit) {
      at = 0;
      atMark = 1 - atMark;
    }
  }
  return last;
}

/** Writes any unwritten entries of the `pending` before `index`; returns the time of the last. */
function settle(
  cell: usize,
  limit: i32,
  interval: i64,
  head: i64,
  index: i32,
  mark: i32,
  pending: i32,
  ticks: i64,
): i64 {
  const newest = entryAt(cell, limit, index, limit - 1);
  const lastMark: i64 = index == 0 ? 1 - mark : mark;
  // A new log has no entries and nothing pending.
  if (pending == 0 || (newest & 1) == lastMark) return timeOf(newest);
  const wraps = index < pending;
  const start = wraps ? index - pending + limit : index - pending;
  const before = timeAt(cell, limit, start, limit - 1);
  return write(cell, limit, interval, head, start, wraps ? 1 - mark : mark, pending, ticks, before);
}

/** The head after `taken` more admissions. */
function advanced(head: i64, limit: i32, bits: i32, taken: i32): i64 {
  const mask = (1 << bits) - 1;
  let high = ((head as u64) >> 32) as i64;
  if (((high as i32) & mask) + taken >= limit) high += mask + 1 - limit;
  high += taken;
  const lapHigh = ((head as u32) >> bits) + ((high >> 32) as u32);
  return (high << 32) | (((lapHigh << bits) | taken) as u32 as i64);
}

/** One attempt on a head that was loaded before the clock was read. */
export function logTakeAt(
  cell: usize,
  limit: i32,
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
  const mask = (1 << bits) - 1;
  const index = high & mask;
  const pending = low & mask;
  // An index past the ring would read memory outside the log.
  if (index >= limit || pending > limit) return DAMAGED;
  // The mark of this lap's entries: 1 in lap 0, because a new ring is all zeros.
  const mark = 1 - ((high >>> bits) & 1);
  const head = joined(low, high);
  const interval = intervalTicks as i64;
  const ticks = ticksAt(nowUs, originTicks) as i64;
  const newest = settle(cell, limit, interval, head, index, mark, pending, ticks);
  const due = ticks - interval;
  let room = 0;
  if (survey) room = countUntil(cell, limit, due, index, limit);
  else if (least < most) room = countUntil(cell, limit, due, index, most);
  // One entry decides: the newest of the n oldest.
  else if (timeAt(cell, limit, index, most - 1) <= due) room = most;
  const taken = room >= most ? most : room >= least ? room : 0;
  if (taken < least) {
    leaveWait(untilOver(timeAt(cell, limit, index, least - 1), intervalTicks, originTicks, nowUs));
  }
  let last = newest;
  if (taken == 0) {
    // The entries belong to this head only if it is unchanged.
    if (load64(cell + CELL_word) != head) return AGAIN;
  } else {
    const next = advanced(head, limit, bits, taken);
    if (exchange64(cell + CELL_word, head, next) != head) {
      loseRace();
      return AGAIN;
    }
    last = max(ticks, write(cell, limit, interval, next, index, mark, taken, ticks, newest));
  }
  if (survey) {
    leaveSurvey(room - taken, max<f64>(0, untilOver(last, intervalTicks, originTicks, nowUs)));
  }
  return taken;
}

/** Microseconds until an entry no longer counts. */
function untilOver(time: i64, intervalTicks: f64, originTicks: f64, nowUs: f64): f64 {
  return until((time as f64) + intervalTicks, nowUs, originTicks);
}
