import { exchange64, load64 } from './accesses';
import { CELL_word, WINDOW_ring } from './constants';

// The ring of a sliding log: the times of its last admissions.
//
// An entry is a time in ticks and one bit, its mark, which flips with every lap of the ring. The
// mark shows whether the entry was written in this lap, so times need not differ: n admissions at
// one instant are n equal entries.
//
// The entries of one operation are written in order, by any thread, so if the last one is written,
// all are.

/** The entry `offset` places after `index`; `offset` is 0 to `places - 1`. */
function entryAt(cell: usize, places: i32, index: i32, offset: i32): i64 {
  const at = index + offset;
  return load64(cell + WINDOW_ring + ((at < places ? at : at - places) as usize) * 8);
}

export function timeAt(cell: usize, places: i32, index: i32, offset: i32): i64 {
  return timeOf(entryAt(cell, places, index, offset));
}

function timeOf(entry: i64): i64 {
  return ((entry as u64) >> 1) as i64;
}

/** The number of entries no later than `tick` among the `most` from `offset` on. */
export function countUntil(
  cell: usize,
  places: i32,
  tick: i64,
  oldest: i32,
  offset: i32,
  most: i32,
): i32 {
  let low = 0;
  let high = most;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (timeAt(cell, places, oldest, offset + middle) <= tick) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Writes the unwritten entries among the `count` from `start` on, and returns the time of the last;
 * `newest` is the time of the entry before them.
 */
export function write(
  cell: usize,
  limit: i32,
  places: i32,
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
        const decisive = timeAt(cell, places, start, places - limit + count - 1);
        time = max(max(ticks, newest), decisive + interval);
      }
      // If this thread stalled before it loaded the entry, the entry may belong to a later lap.
      if (load64(cell + CELL_word) != head) return last;
      const seen = exchange64(place, old, (time << 1) | atMark);
      // If the exchange failed, another thread has written this entry with its own time.
      if ((seen & 1) == atMark) time = timeOf(seen);
    }
    last = time;
    at++;
    if (at == places) {
      at = 0;
      atMark = 1 - atMark;
    }
  }
  return last;
}

/** Writes any unwritten entries of the `pending` before `index`; returns the time of the last. */
export function settle(
  cell: usize,
  limit: i32,
  places: i32,
  interval: i64,
  head: i64,
  index: i32,
  mark: i32,
  pending: i32,
  ticks: i64,
): i64 {
  const newest = entryAt(cell, places, index, places - 1);
  const lastMark: i64 = index == 0 ? 1 - mark : mark;
  // A new log has no entries and nothing pending.
  if (pending == 0 || (newest & 1) == lastMark) return timeOf(newest);
  const wraps = index < pending;
  const start = wraps ? index - pending + places : index - pending;
  const before = timeAt(cell, places, start, places - 1);
  const startMark = wraps ? 1 - mark : mark;
  return write(cell, limit, places, interval, head, start, startMark, pending, ticks, before);
}
