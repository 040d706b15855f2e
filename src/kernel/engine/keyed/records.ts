import { load32, readF64 } from '../accesses';
import {
  INDEX_MASK,
  KEYED_LIMIT_BYTES,
  KEYED_live,
  KEYED_RECORD_limits,
  KEYED_RECORD_sinceUs,
} from '../constants';
import { cell } from './table';

// The records of the limits, of a table or a limit set. A record holds all limits; a word names the
// live one.

let records: usize = 0;
let recordBytes: usize = 0;
/** The number of limits. */
export let count: i32 = 0;
/** The word that names the record read last, or UNKNOWN. */
export let known: i32 = -1;
/** No word is negative. */
export const UNKNOWN: i32 = -1;

export function openRecords(at: usize, limits: i32): void {
  records = at;
  recordBytes = KEYED_RECORD_limits + (limits as usize) * KEYED_LIMIT_BYTES;
  count = limits;
  known = UNKNOWN;
}

/** Keeps the word whose record was read; UNKNOWN makes the next call read its record again. */
export function know(live: i32): void {
  known = live;
}

export function recordOf(live: i32): usize {
  return records + ((live & INDEX_MASK) as usize) * recordBytes;
}

export function limitIn(record: usize, index: i32): usize {
  return record + KEYED_RECORD_limits + (index as usize) * KEYED_LIMIT_BYTES;
}

/** The instant as of which a record went live. */
export function sinceOf(record: usize): f64 {
  return readF64(record + KEYED_RECORD_sinceUs);
}

/** Whether the record that this call has read is still live. */
export function isInForce(): bool {
  return load32(cell + KEYED_live) == known;
}
