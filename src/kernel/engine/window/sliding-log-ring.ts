import { exchange64, load64 } from '../accesses';
import { CELL_word, WINDOW_ring } from '../constants';

// The ring of a sliding log: the times of its last admissions.
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
export function entryAt(cell: usize, places: i32, index: i32, offset: i32): i64 {
  const at = index + offset;
  return load64(placeAt(cell, at < places ? at : at - places));
}

export function timeOf(entry: i64): f64 {
  return ((entry as u64) >> 1) as i64 as f64;
}

/** The number of entries no later than `tick` among the `most` from `offset` on. */
export function countUntil(
  cell: usize,
  places: i32,
  tick: f64,
  oldest: i32,
  offset: i32,
  most: i32,
): i32 {
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
export function writeEntry(cell: usize, index: i32, old: i64, mark: i32, time: f64): f64 {
  const entry = ((time as i64) << 1) | (mark as i64);
  const seen = exchange64(placeAt(cell, index), old, entry);
  // If the exchange failed, another thread has written this entry with its own time.
  return ((seen as i32) & 1) == mark ? timeOf(seen) : time;
}

/**
 * Writes the unwritten entries among the `count` from `start` on, and returns the time of the last.
 * All entries of an operation have the time of the first: `first` if that is unwritten.
 */
export function write(
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

/** Writes the unwritten entries of the `pending` before `index`; returns the time of the last. */
export function settle(
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
  const lastMark = index == 0 ? 1 - mark : mark;
  // A new log has no entries and nothing pending.
  if (pending == 0 || ((newest as i32) & 1) == lastMark) return timeOf(newest);
  const wraps = index < pending;
  const start = wraps ? index - pending + places : index - pending;
  const before = timeOf(entryAt(cell, places, start, places - 1));
  const decisive = timeOf(entryAt(cell, places, start, places - limit + pending - 1));
  const first = max(max(ticks, before), decisive + interval);
  return write(cell, places, head, start, wraps ? 1 - mark : mark, pending, first);
}
