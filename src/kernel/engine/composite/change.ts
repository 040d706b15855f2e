import { load64, peek64, readF64, writeI64 } from '../accesses';
import { scale, ticksDown } from '../arithmetic';
import { release } from '../claim';
import {
  blockAt,
  exchangeWord,
  recordOf,
  restSpare,
  slotAt,
  slotOf,
  spare,
  spareAt,
  wordAfter,
  zeroTimeAt,
} from './slot';
import {
  beginChange,
  generation,
  place,
  proposeSame,
  replaced,
  since,
  writeDigest,
} from './proposal';
import {
  BUCKET_claims,
  BUSY,
  CELL_word,
  DAMAGED,
  MAX_SPAN_TICKS,
  RECORD_burst,
  RECORD_COUNT,
  RECORD_pace,
  RECORD_ticksPerToken,
  RETURN_ATTEMPTS,
  SLOT_mark,
  SUPERSEDED,
} from '../constants';
import {
  burst,
  capTicks,
  countedTick,
  originUs,
  pace,
  readLimit,
  ticksPerToken,
} from '../bucket/limit';
import {
  keepOrigin,
  newBurst,
  newCapTicks,
  newLimit,
  newOriginUs,
  newPace,
  newTick,
  newTicksPerToken,
  placeOrigin,
  writeRecord,
} from '../bucket/new-record';
import { DONE, endTenure, withinSpan } from '../bucket/reconfigure';
import { forget, generationOf, isStill, recordAt } from '../bucket/record';
import { findIndex, moveToOrigin } from '../bucket/token-index';

// Changes a composite bucket: one exchange of the word makes a new record and a new slot live.

/** The change that a new record makes. */
const LIMITS = 0;
const ORIGINS = 1;
const RETURNS = 2;

/** The largest number of tokens promised but not due, in ticks of the limit that delays them. */
let pending: i64 = 0;
let pendingPerToken: f64 = 0;

function findPending(cell: usize, count: i32, word: i64, nowUs: f64): bool {
  const slot = slotAt(cell, count, slotOf(word));
  let most: f64 = 0;
  pending = 0;
  pendingPerToken = 1;
  for (let i = 0; i < count; i++) {
    if (!readLimit(recordAt(blockAt(cell, i), recordOf(word))) || !isFinite(originUs)) return false;
    const debt = peek64(zeroTimeAt(slot, i)) - countedTick(nowUs);
    if (debt <= 0 || ticksPerToken == 0 || (debt as f64) / ticksPerToken <= most) continue;
    most = (debt as f64) / ticksPerToken;
    pending = debt;
    pendingPerToken = ticksPerToken;
  }
  return true;
}

/** The pending tokens in ticks, rounded up. */
function pendingTicks(perToken: f64): i64 {
  return -scale(-pending, perToken as i64, pendingPerToken as i64, 2 * MAX_SPAN_TICKS);
}

/**
 * The zero-time under a new limit. The bucket keeps its tokens, up to the new burst, as if the
 * pending ones were not taken yet. Then those are taken, so that they become due at the new rate.
 */
function convertedTo(zeroTime: i64, nowUs: f64): i64 {
  const now = countedTick(nowUs);
  if (isSameLimit()) {
    return pending == 0 ? zeroTime : max(zeroTime, now - capTicks + pendingTicks(ticksPerToken));
  }
  const before = min(capTicks, now - zeroTime + pendingTicks(ticksPerToken));
  const most = 2 * MAX_SPAN_TICKS;
  // An unlimited bucket is always full.
  const kept =
    ticksPerToken == 0
      ? newCapTicks
      : min(newCapTicks, scale(before, newTicksPerToken as i64, ticksPerToken as i64, most));
  return newTick(nowUs) - withinSpan(kept - pendingTicks(newTicksPerToken));
}

function isSameLimit(): bool {
  return newPace == pace && newBurst == burst && newTicksPerToken == ticksPerToken;
}

/** The zero-time of a limit in the new record. Also places that record's origin. */
function nextZeroTime(zeroTime: i64, nowUs: f64, change: i32, tokens: f64): i64 {
  if (change == RETURNS || (change == LIMITS && isSameLimit())) keepOrigin();
  else placeOrigin(nowUs, generation);
  if (change == LIMITS) return convertedTo(zeroTime, nowUs);
  if (change == ORIGINS) return newTick(nowUs) - withinSpan(countedTick(nowUs) - zeroTime);
  return returnedTo(zeroTime, nowUs, tokens);
}

/** The zero-time under the limit read, after tokens are returned. A full bucket keeps its own. */
export function returnedTo(zeroTime: i64, nowUs: f64, tokens: f64): i64 {
  const full = countedTick(nowUs) - capTicks;
  return min(zeroTime, max(zeroTime - ticksDown(tokens, ticksPerToken), full));
}

/** Fills the claimed record and the spare slot as successors of those that a word names. */
function prepare(cell: usize, count: i32, word: i64, nowUs: f64, change: i32, tokens: f64): bool {
  if (!findPending(cell, count, word, nowUs)) return false;
  const slot = slotAt(cell, count, slotOf(word));
  for (let i = 0; i < count; i++) {
    const block = blockAt(cell, i);
    const proposal = recordAt(block, place);
    readLimit(recordAt(block, recordOf(word)));
    newLimit(
      readF64(proposal + RECORD_pace),
      readF64(proposal + RECORD_burst),
      readF64(proposal + RECORD_ticksPerToken),
      0,
    );
    const zeroTime = peek64(zeroTimeAt(slot, i));
    const next = nextZeroTime(zeroTime, nowUs, change, tokens);
    if (!isFinite(newOriginUs)) return false;
    // The last promised token keeps its index, so the promised tokens move with the zero-time.
    findIndex(zeroTime);
    moveToOrigin(next, newTicksPerToken);
    writeRecord(block, place, generation, since);
    writeDigest(cell, count, i, nowUs);
    writeI64(zeroTimeAt(spareAt, i), next);
  }
  writeI64(spareAt + SLOT_mark, peek64(slot + SLOT_mark));
  return true;
}

/** Makes the claimed record and the spare slot live, and frees the previous record. */
function publish(cell: usize, count: i32, nowUs: f64, change: i32, tokens: f64): f64 {
  while (true) {
    const word = load64(cell + CELL_word);
    let failure = generationOf(cell, word) == replaced ? DONE : SUPERSEDED;
    if (failure == DONE && !prepare(cell, count, word, nowUs, change, tokens)) {
      if (!isStill(cell, word)) continue;
      failure = DAMAGED;
    }
    if (failure != DONE) {
      release(cell + BUCKET_claims, place);
      return failure;
    }
    // End it before the exchange: if this thread is terminated in between, no observer misses a
    // change.
    endTenure(cell, word);
    if (exchangeWord(cell, count, word, wordAfter(word, spare, place)) == word) {
      release(cell + BUCKET_claims, place);
      forget();
      return DONE;
    }
  }
}

/** Puts the proposed limits in force; SUPERSEDED if another record went live meanwhile. */
export function publishLimits(cell: usize, count: i32, nowUs: f64): f64 {
  const outcome = publish(cell, count, nowUs, LIMITS, 0);
  restSpare();
  return outcome;
}

/** Moves the origins to now. If no record is free, a later call tries again. */
export function renewAll(cell: usize, count: i32, generationNow: i32, nowUs: f64): void {
  if (beginChange(cell, generationNow, RECORD_COUNT) != DONE) return;
  proposeSame(cell, count);
  publish(cell, count, nowUs, ORIGINS, 0);
}

/**
 * Returns tokens to a bucket in debt, so that every promised token is due earlier. Returns 1 if
 * there were promised tokens, 0 if they have been returned meanwhile, BUSY if no record is free.
 */
export function returnAll(
  cell: usize,
  count: i32,
  generationNow: i32,
  nowUs: f64,
  tokens: f64,
): f64 {
  const outcome = beginChange(cell, generationNow, RETURN_ATTEMPTS);
  if (outcome != DONE) return outcome;
  proposeSame(cell, count);
  const published = publish(cell, count, nowUs, RETURNS, tokens);
  return published == DONE && pending > 0 ? 1 : published;
}
