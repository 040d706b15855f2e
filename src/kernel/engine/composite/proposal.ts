import { exchange64, load64, store32, writeF64, writeI64 } from '../accesses';
import { ticksUp } from '../arithmetic';
import { claimRecord, NONE, release } from '../claim';
import {
  blockAt,
  digestsAt,
  recordOf,
  restSpare,
  slotAt,
  takeSpare,
  wordAfter,
  zeroTimeAt,
} from './slot';
import {
  BUCKET_claims,
  BUSY,
  CELL_word,
  CLAIM_ATTEMPTS,
  CROWDED,
  DAMAGED,
  DIGEST_burst,
  DIGEST_BYTES,
  DIGEST_capTicks,
  DIGEST_originUs,
  DIGEST_sinceUs,
  DIGEST_ticksPerMicro,
  DIGEST_ticksPerToken,
  RECORD_burst,
  RECORD_generation,
  RECORD_pace,
  RECORD_ticksPerToken,
  SLOT_state,
  SUPERSEDED,
} from '../constants';
import { holder } from '../holder';
import { burst, pace, readLimit, ticksPerToken } from '../bucket/limit';
import {
  newBurst,
  newCapTicks,
  newLimit,
  newOriginUs,
  newTick,
  newTicksPerMicro,
  newTicksPerToken,
  nextGeneration,
  placeOrigin,
  writeRecord,
} from '../bucket/new-record';
import { DONE } from '../bucket/reconfigure';
import { generationOf, limitOf, recordAt } from '../bucket/record';
import { startIndex } from '../bucket/token-index';

// Creates a composite bucket, and proposes new limits: claims a record and writes a proposal for
// each limit. composite/change.ts puts them in force.

/** The record that this thread has claimed, and its generation. */
export let place: i32 = 0;
export let generation: i32 = 0;
/** The generation of the record that it replaces. */
export let replaced: i32 = 0;
/** The generation with which its limits came into force. */
export let since: i32 = 0;

/** Writes the digest of the new record's limit. */
export function writeDigest(cell: usize, count: i32, i: i32, nowUs: f64): void {
  const at = digestsAt(cell, count, place) + i * DIGEST_BYTES;
  writeI64(at + DIGEST_ticksPerToken, newTicksPerToken as i64);
  writeF64(at + DIGEST_ticksPerMicro, newTicksPerMicro);
  writeI64(at + DIGEST_capTicks, newCapTicks);
  writeF64(at + DIGEST_originUs, newOriginUs);
  writeF64(at + DIGEST_burst, newBurst);
  writeF64(at + DIGEST_sinceUs, nowUs);
}

/** Writes one limit of a new bucket into cleared memory, before any other thread can see it. */
export function layLimit(
  cell: usize,
  count: i32,
  i: i32,
  nowUs: f64,
  rate: f64,
  most: f64,
  perToken: f64,
  initial: f64,
): f64 {
  place = 0;
  if (i == 0) generation = nextGeneration(cell);
  newLimit(rate, most, perToken, 0);
  placeOrigin(nowUs, generation);
  if (!isFinite(newOriginUs)) return DAMAGED;
  startIndex();
  writeRecord(blockAt(cell, i), place, generation, generation);
  writeDigest(cell, count, i, nowUs);
  const slot = slotAt(cell, count, 0);
  writeI64(zeroTimeAt(slot, i), newTick(nowUs) - ticksUp(initial, perToken));
  exchange64(slot + SLOT_state, 0, holder);
  exchange64(cell + CELL_word, 0, wordAfter(0, 0, 0));
  return DONE;
}

/** Claims a record to replace the live one of this generation. */
export function beginChange(cell: usize, generationNow: i32, attempts: i32): f64 {
  place = claimRecord(cell, cell + BUCKET_claims, attempts);
  if (place == NONE) return BUSY;
  replaced = generationNow;
  const word = load64(cell + CELL_word);
  since = limitOf(cell, word);
  if (generationOf(cell, word) != replaced) {
    release(cell + BUCKET_claims, place);
    return SUPERSEDED;
  }
  generation = nextGeneration(cell);
  return DONE;
}

/** Prepares new limits, unless the live record has another generation by now. */
export function beginReconfigure(cell: usize, count: i32, generationNow: i32): f64 {
  if (!takeSpare(cell, count)) return CROWDED;
  const outcome = beginChange(cell, generationNow, CLAIM_ATTEMPTS);
  since = generation;
  if (outcome != DONE) restSpare();
  return outcome;
}

/** Writes the new limit into the claimed record. */
export function propose(cell: usize, i: i32, rate: f64, most: f64, perToken: f64): void {
  const at = recordAt(blockAt(cell, i), place);
  store32(at + RECORD_generation, 0);
  writeF64(at + RECORD_pace, rate);
  writeF64(at + RECORD_burst, most);
  writeF64(at + RECORD_ticksPerToken, perToken);
}

/** Proposes the limits in force. */
export function proposeSame(cell: usize, count: i32): void {
  const word = load64(cell + CELL_word);
  for (let i = 0; i < count; i++) {
    readLimit(recordAt(blockAt(cell, i), recordOf(word)));
    propose(cell, i, pace, burst, ticksPerToken);
  }
}
