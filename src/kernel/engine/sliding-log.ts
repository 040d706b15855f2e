import { exchange64, load64 } from './accesses';
import { CELL_word, WINDOW_OUTCOME_again, WINDOW_OUTCOME_damaged, WINDOW_ring } from './constants';
import { beginRaces, loseRace } from './races';
import { leaveSurvey, leaveWait, ticksAt, until } from './window';
import { joined } from './word';

// The times of the last `limit` admissions in a ring, and a word (the head) that says where the
// oldest of them is. The next n admissions take the places of the n oldest:
//
//     take     head: (position, -) -> (position + n, pending n)
//     write    ring[position .. position + n - 1]: each from its old entry to the new time
//
// The exchange on the head admits all n or none. Who finds entries pending that are not written
// yet, because their thread was stalled or terminated, writes them first, with a time of its own:
// the stalled call has not returned, so it is a time within that call. A place is written once: its
// exchange expects the old entry, and an entry never comes back, for its time grows by an interval
// or more with each lap.
//
// At most `limit` in any half-open interval: the admission at a position is made only if the one
// `limit` positions before is an interval or more older, by a clock that is read after the head and
// before its exchange; the exchange finds the head unchanged, so the entry was still the same. Every
// entry is no earlier than the reading that its admission stands on, and entries never decrease from
// one position to the next. So of any `limit + 1` admissions the last stands on a reading of the
// clock an interval or more after the first's.
//
// The head repeats after 2^(64 - 2C) laps, at the least 2^14, and a lap takes an interval at least.
//
// The entries of a log: times in ticks, each with one bit, its mark, that turns with every lap of
// the ring. So an entry tells by itself whether it was written in this lap, and times need not
// differ: n admissions at one instant are n equal entries.
//
// The entries of one operation are written in order, whoever writes them, so the last of them speaks
// for all.

const AGAIN: i32 = WINDOW_OUTCOME_again as i32;
const DAMAGED: i32 = WINDOW_OUTCOME_damaged as i32;

/** An entry `offset` places after `index`, 0 to `limit - 1`. */
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

/** Of the `most` oldest entries, how many are no later than `tick`. */
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
 * Writes those of `count` entries from `start` on that are not written yet, and returns the time of
 * the last; `newest` is the time of the entry before them.
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
      // All units of an operation have one time, that of the first.
      time = last;
      if (left == count) {
        time = max(max(ticks, newest), timeAt(cell, limit, start, count - 1) + interval);
      }
      // The entry may be of a later lap, if this thread was stalled before it read it.
      if (load64(cell + CELL_word) != head) return last;
      const seen = exchange64(place, old, (time << 1) | atMark);
      // Written already, where it fails: with a time that another thread gave to this operation.
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

/** Makes sure that the `pending` entries before `index` are written; returns the time of the last. */
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
  // A new log has no entries, and nothing pending.
  if (pending == 0 || (newest & 1) == lastMark) return timeOf(newest);
  const wraps = index < pending;
  const start = wraps ? index - pending + limit : index - pending;
  const before = timeAt(cell, limit, start, limit - 1);
  return write(cell, limit, interval, head, start, wraps ? 1 - mark : mark, pending, ticks, before);
}

/** The head after `taken` more. */
function advanced(head: i64, limit: i32, bits: i32, taken: i32): i64 {
  const mask = (1 << bits) - 1;
  let high = ((head as u64) >> 32) as i64;
  if (((high as i32) & mask) + taken >= limit) high += mask + 1 - limit;
  high += taken;
  const lapHigh = ((head as u32) >> bits) + ((high >> 32) as u32);
  return (high << 32) | (((lapHigh << bits) | taken) as u32 as i64);
}

/** One attempt on a head that was seen before the clock was read. */
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
  // An index past the ring would read what is not the log's.
  if (index >= limit || pending > limit) return DAMAGED;
  // What entries of this lap are marked with: 1 in lap 0, as a new ring is all zeros.
  const mark = 1 - ((high >>> bits) & 1);
  const head = joined(low, high);
  const interval = intervalTicks as i64;
  const ticks = ticksAt(nowUs, originTicks) as i64;
  const newest = settle(cell, limit, interval, head, index, mark, pending, ticks);
  const due = ticks - interval;
  let room = 0;
  if (survey) room = countUntil(cell, limit, due, index, limit);
  else if (least < most) room = countUntil(cell, limit, due, index, most);
  // One entry tells: the newest of the oldest n.
  else if (timeAt(cell, limit, index, most - 1) <= due) room = most;
  const taken = room >= most ? most : room >= least ? room : 0;
  if (taken < least) {
    leaveWait(untilOver(timeAt(cell, limit, index, least - 1), intervalTicks, originTicks, nowUs));
  }
  let last = newest;
  if (taken == 0) {
    // The head must still be the one that the entries belong to.
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

/** Until an entry no longer counts. */
function untilOver(time: i64, intervalTicks: f64, originTicks: f64, nowUs: f64): f64 {
  return until((time as f64) + intervalTicks, nowUs, originTicks);
}
