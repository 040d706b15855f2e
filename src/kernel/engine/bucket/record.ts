import { load32, load64, readI32 } from '../accesses';
import {
  BUCKET_limits,
  CELL_word,
  INDEX_MASK,
  RECORD_BYTES,
  RECORD_epoch,
  RECORDS_AT,
} from '../constants';
import { fetchLimit, readLimit } from './limit';

// Reads the configuration record that a bucket's word names, and caches one between calls.

/** The cell whose record is cached; 0 if another record has been read since. */
let knownCell: usize = 0;
let knownIndex: i64 = 0;
export let knownEpoch: i32 = 0;
/** The epoch with which its limit came into force. */
export let knownLimit: i32 = 0;
/** The cell's word as this thread last read or wrote it, and the clock reading of that call. */
export let knownWord: i64 = 0;
export let knownUs: f64 = 0;

export function recordAt(cell: usize, index: usize): usize {
  return cell + RECORDS_AT + index * RECORD_BYTES;
}

function recordOf(cell: usize, word: i64): usize {
  return recordAt(cell, (word & INDEX_MASK) as usize);
}

/**
 * Reads the limit of the record that a word names; false if invalid. No thread writes a record that
 * the word names, so the result is consistent if the word {@link isStill} the same.
 */
export function readRecord(cell: usize, word: i64): bool {
  forget();
  return readLimit(recordOf(cell, word));
}

/**
 * Caches the live record, read after its epoch, for this and later calls; false if invalid. It
 * may mix two records until a word {@link isKnown}.
 */
export function learn(cell: usize, nowUs: f64): bool {
  while (true) {
    const word = load64(cell + CELL_word);
    const epoch = epochOf(cell, word);
    forget();
    if (epoch != 0 && fetchLimit(recordOf(cell, word))) {
      knownCell = cell;
      knownIndex = word & INDEX_MASK;
      remember(word, nowUs);
      knownEpoch = epoch;
      knownLimit = limitOf(cell, word);
      return true;
    }
    if (isStill(cell, word)) return false;
  }
}

export function forget(): void {
  knownCell = 0;
}

export function remember(word: i64, nowUs: f64): void {
  knownWord = word;
  knownUs = nowUs;
}

export function isLearnt(cell: usize): bool {
  return cell == knownCell;
}

/**
 * Whether a word names the cached record. The epoch is read after the word, and a record is
 * written before the word that publishes it, so a new epoch means that the word has changed.
 */
export function isKnown(cell: usize, word: i64): bool {
  return (
    (word & INDEX_MASK) == knownIndex && readI32(recordOf(cell, word) + RECORD_epoch) == knownEpoch
  );
}

export function epochOf(cell: usize, word: i64): i32 {
  return load32(recordOf(cell, word) + RECORD_epoch);
}

/** The epoch with which the limit that a word names came into force. */
export function limitOf(cell: usize, word: i64): i32 {
  return load32(cell + BUCKET_limits + (((word & INDEX_MASK) as usize) << 2));
}

/** Whether a cell's word is unchanged since it was loaded. */
export function isStill(cell: usize, word: i64): bool {
  return load64(cell + CELL_word) == word;
}
