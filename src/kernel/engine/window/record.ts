import { add32, exchange64, readI32, store32, writeF64 } from '../accesses';
import { claimRecord, release } from '../claim';
import {
  CELL_word,
  CLAIM_ATTEMPTS,
  INDEX_MASK,
  WINDOW_claims,
  WINDOW_OUTCOME_again,
  WINDOW_RECORD_bits,
  WINDOW_RECORD_BYTES,
  WINDOW_RECORD_firstSlot,
  WINDOW_RECORD_generation,
  WINDOW_RECORD_intervalMs,
  WINDOW_RECORD_limit,
  WINDOW_RECORD_originTicks,
  WINDOW_RECORD_shift,
  WINDOW_records,
  WINDOW_sequence,
} from '../constants';
import { loseRace } from '../results';

// The configuration records of windows and logs. The low bits of the word name the live record, so
// one exchange puts a new limit in force. A record is written only while no word names it, and each
// writing has its own generation.
//
// A host caches a record and passes its generation. The word is loaded before the generations are
// compared. If they agree, the cached limit was in force when the word was loaded, and an exchange
// that finds the word unchanged finds the same limit in force: no word recurs under another
// generation (see where each limiter's words are written).

const AGAIN: i32 = WINDOW_OUTCOME_again as i32;

function recordAt(cell: usize, index: i32): usize {
  return cell + WINDOW_records + (index as usize) * WINDOW_RECORD_BYTES;
}

/** Whether the record that a word names is of this generation. */
export function isInForce(cell: usize, word: i64, generation: i32): bool {
  const at = recordAt(cell, (word & INDEX_MASK) as i32);
  return readI32(at + WINDOW_RECORD_generation) == generation;
}

/** Claims the next free record after the live one. */
export function claimWindowRecord(cell: usize): i32 {
  return claimRecord(cell, cell + WINDOW_claims, CLAIM_ATTEMPTS);
}

/** The next generation of a cell, never 0. */
export function nextWindowGeneration(cell: usize): i32 {
  while (true) {
    const generation = (add32(cell + WINDOW_sequence, 1) + 1) & 0x7fffffff;
    if (generation != 0) return generation;
  }
}

/** Fills a claimed record. The generation is written last: 0 means "being written". */
export function writeWindowRecord(
  cell: usize,
  index: i32,
  generation: i32,
  bits: i32,
  limit: i32,
  intervalMs: f64,
  originTicks: f64,
  firstSlot: f64,
  shift: f64,
): void {
  const at = recordAt(cell, index);
  store32(at + WINDOW_RECORD_generation, 0);
  store32(at + WINDOW_RECORD_bits, bits);
  writeF64(at + WINDOW_RECORD_limit, limit);
  writeF64(at + WINDOW_RECORD_intervalMs, intervalMs);
  writeF64(at + WINDOW_RECORD_originTicks, originTicks);
  writeF64(at + WINDOW_RECORD_firstSlot, firstSlot);
  writeF64(at + WINDOW_RECORD_shift, shift);
  store32(at + WINDOW_RECORD_generation, generation);
}

/** Puts a written record in force by exchanging the word, and frees the old one; 0 if it did. */
export function publishWindowRecord(cell: usize, word: i64, next: i64, index: i32): i32 {
  const isLive = exchange64(cell + CELL_word, word, next) == word;
  release(cell + WINDOW_claims, index);
  if (isLive) return 0;
  loseRace();
  return AGAIN;
}
