import { load64, peek64, readI64, writeI64 } from '../accesses';
import { renewAll } from './change';
import {
  blockAt,
  digestsAt,
  exchangeWord,
  recordOf,
  restSpare,
  slotAt,
  slotOf,
  spare,
  spareAt,
  takeSpare,
  wordAfter,
  zeroTimeAt,
} from './slot';
import {
  BUSY,
  CELL_word,
  CROWDED,
  DAMAGED,
  DIGEST_BYTES,
  MAX_SPAN_TICKS,
  RENEW_TICKS,
  SLOT_mark,
} from '../constants';
import { floored } from '../decision';
import {
  capTicks,
  nearestTick,
  originUs,
  readDigest,
  readLimit,
  ticksPerMicro,
} from '../bucket/limit';
import {
  forget,
  isKnown,
  isLearnt,
  isStill,
  knownGeneration,
  knownUs,
  knownWord,
  learn,
  recordAt,
  remember,
} from '../bucket/record';
import { beginRaces, failBecause } from '../results';

// A consistent copy of a bucket with several limits, in the spare slot. A slot and a record are
// consistent if the word is the same before and after they are read: an exchange validates a
// change, and a second load of the word validates an answer.

const MAX_SPAN: f64 = MAX_SPAN_TICKS as f64;

/**
 * The last tick that this call accepts, and the tick that it rejected because the record has aged.
 */
export let furthest: f64 = 0;
let tick: f64 = 0;
/**
 * The generation that this call tried to renew. It tries each once, because no record may be free.
 */
let renewed: i32 = 0;

/** Notes the tick that this call rejects. */
export function refuseTick(instant: f64): void {
  tick = instant;
}

/** Takes a spare slot for this call; false if none is free. */
function obtainSpare(cell: usize, count: i32): bool {
  if (takeSpare(cell, count)) return true;
  failBecause(CROWDED);
  return false;
}

/** Starts a call; false if no slot is free. */
export function begin(cell: usize, count: i32): bool {
  beginRaces();
  renewed = 0;
  furthest = RENEW_TICKS as f64;
  failBecause(DAMAGED);
  return obtainSpare(cell, count);
}

export function end(result: f64): f64 {
  restSpare();
  return result;
}

/** Whether all records that a word names, and their digests, are valid. */
function areSound(cell: usize, count: i32, word: i64): bool {
  const record = recordOf(word);
  for (let i = 0; i < count; i++) {
    if (!readLimit(recordAt(blockAt(cell, i), record))) return false;
    const perMicro = ticksPerMicro;
    const cap = capTicks;
    const origin = originUs;
    readDigest(digestsAt(cell, count, record) + i * DIGEST_BYTES);
    if (perMicro != ticksPerMicro || cap != capTicks || origin != originUs) return false;
  }
  return true;
}

/** Checks the live records and caches their generation; false if they are invalid. */
export function learnAll(cell: usize, count: i32, nowUs: f64): bool {
  while (learn(cell, nowUs)) {
    if (areSound(cell, count, knownWord)) return true;
    if (isStill(cell, knownWord)) break;
  }
  forget();
  return false;
}

/** Renews the records that a word names if they have aged; false if the call has failed. */
export function rejuvenate(cell: usize, count: i32, word: i64, nowUs: f64): bool {
  if (!isStill(cell, word)) return true;
  if (knownGeneration != renewed) {
    renewed = knownGeneration;
    if (tick == tick) renewAll(cell, count, knownGeneration, nowUs);
    forget();
    return obtainSpare(cell, count);
  }
  if (tick <= MAX_SPAN) {
    furthest = MAX_SPAN;
    return true;
  }
  // No record was free for years, or the clock returned no number.
  if (isFinite(tick)) failBecause(BUSY);
  return false;
}

/** Copies the zero-times to the spare slot, raised to their floors; false if a record has aged. */
function copied(cell: usize, count: i32, word: i64, nowUs: f64): bool {
  const slot = slotAt(cell, count, slotOf(word));
  const digests = digestsAt(cell, count, recordOf(word));
  for (let i = 0; i < count; i++) {
    readDigest(digests + i * DIGEST_BYTES);
    tick = nearestTick(nowUs);
    if (!(tick <= furthest)) return false;
    const zeroTime = floored(peek64(zeroTimeAt(slot, i)), tick as i64, capTicks);
    writeI64(zeroTimeAt(spareAt, i), zeroTime);
  }
  writeI64(spareAt + SLOT_mark, peek64(slot + SLOT_mark));
  return true;
}

/** Copies the live slot to the spare one. Returns the word that names it, or 0 after a failure. */
export function look(cell: usize, count: i32, nowUs: f64): i64 {
  while (true) {
    if (!isLearnt(cell) && !learnAll(cell, count, nowUs)) return 0;
    const word = load64(cell + CELL_word);
    if (!isKnown(cell, word)) forget();
    else if (copied(cell, count, word, nowUs)) return word;
    else if (!rejuvenate(cell, count, word, nowUs)) return 0;
  }
}

/** Reads a limit that a word names, and the ticks that the spare slot holds under it. */
export function heldUnder(cell: usize, count: i32, word: i64, i: i32, nowUs: f64): i64 {
  readDigest(digestsAt(cell, count, recordOf(word)) + i * DIGEST_BYTES);
  return (nearestTick(nowUs) as i64) - readI64(zeroTimeAt(spareAt, i));
}

/** Makes the spare slot live if the word is unchanged. */
export function publish(cell: usize, count: i32, word: i64): bool {
  const next = wordAfter(word, spare, recordOf(word));
  if (exchangeWord(cell, count, word, next) != word) return false;
  remember(next, knownUs);
  return true;
}
