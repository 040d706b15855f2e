import { load32, readF64, readI32, readI64 } from '../accesses';
import { burst, capTicks, fillTicks, keepLimit, readLimit, setLimit } from '../bucket/limit';
import {
  INDEX_BITS,
  KEYED_LIMIT_rest,
  KEYED_live,
  KEYED_RECORD_before,
  PARITY,
  RECORD_pace,
  TABLE_SPAN_TICKS,
  TAG_BITS,
  TICKS_PER_MICRO,
} from '../constants';
import { count, know, known, limitIn, openRecords, recordOf, sinceOf, UNKNOWN } from './records';
import { cell } from './table';

// The limits of a table: its own and its tiers'. A record holds all of them, and each counts in a
// tick of its own. Invariant: no thread writes the live record, nor the one before it while an entry
// still counts under that one.

/** The limit of this call. */
export let tier: i32 = 0;
/** The bits of a state that counts under the limit of this call. */
export let mark: i32 = 0;
/** The zero-time of a key that took nothing since the table's creation, or less. */
export let restTicks: i64 = 0;
/** How much shorter a window's limit is than its fill, in ticks. */
export let gapTicks: i64 = 0;

export function openLimits(at: usize, limits: i32): void {
  openRecords(at, limits);
  tier = 0;
}

/** The record that was live before another. */
export function recordBefore(record: usize): usize {
  return recordOf(readI32(record + KEYED_RECORD_before));
}

/** The tokens per second of a limit in the record that was read last, or the length of windows. */
export function paceOf(index: i32): f64 {
  return readF64(limitIn(recordOf(known), index) + RECORD_pace);
}

/** The tokens per microsecond of the fastest limit, unlimited ones aside. */
export function fastestPerMicro(): f64 {
  let fastest: f64 = 0;
  for (let i = 0; i < count; i++) {
    const rate = paceOf(i);
    if (rate < Infinity) fastest = max(fastest, rate);
  }
  return fastest / 1e6;
}

/** Selects the limit of later calls: 0 for the table's own, otherwise a tier. */
export function useTier(index: i32): void {
  tier = index;
  know(UNKNOWN);
}

/** Reads the limit if it may have changed since the last call; false if it is invalid. */
export function learnLimit(): bool {
  const live = load32(cell + KEYED_live);
  return live == known || readLimits(live);
}

/** The bits of a state that has been counted under a limit of the record that a word names. */
export function markOf(live: i32, index: i32): i32 {
  return (((live >> INDEX_BITS) & 1) * PARITY) | (index << TAG_BITS);
}

/**
 * Reads a limit; false if it is invalid. An unlimited one is read then, so that no arithmetic fails,
 * whatever damaged memory contains, or a record that another thread is writing.
 */
export function read(limit: usize): bool {
  const isSound =
    readLimit(limit) &&
    capTicks <= TABLE_SPAN_TICKS &&
    (fillTicks == 0 || (capTicks > 0 && capTicks <= (fillTicks as i64)));
  if (!isSound) setLimit(burst, 0, TICKS_PER_MICRO, 0, 0, 0);
  return isSound;
}

/** Lets this call use up the whole fill of a window, which is no less than the limit of any tier. */
export function useWholeFill(): void {
  gapTicks = 0;
}

function readLimits(word: i32): bool {
  let live = word;
  know(UNKNOWN);
  while (true) {
    const limit = limitIn(recordOf(live), tier);
    const since = sinceOf(recordOf(live));
    const isSound = read(limit) && since - since == 0;
    const rest = readI64(limit + KEYED_LIMIT_rest);
    const again = load32(cell + KEYED_live);
    if (again != live) {
      live = again;
      continue;
    }
    if (!isSound) return false;
    keepLimit();
    restTicks = rest;
    gapTicks = fillTicks == 0 ? 0 : (fillTicks as i64) - capTicks;
    mark = markOf(live, tier);
    know(live);
    return true;
  }
}
