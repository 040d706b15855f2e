import { load64, peek64, peekF64, writeI64 } from '../accesses';
import { joined } from '../arithmetic';
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
import { CELL_word, DIGEST_BYTES, DIGEST_sinceUs, SLOT_mark } from '../constants';
import { costOf, readDigest, readLimit } from '../bucket/limit';
import {
  generationOf,
  isLearnt,
  isStill,
  knownUs,
  limitOf,
  recordAt,
  remember,
} from '../bucket/record';
import { dueAt, leaveLive } from '../bucket/reservation';
import { tickOf } from '../bucket/token-index';

// Tokens reserved under several limits: when they are due, and how they are returned.

/** When the token with an index is due under one live limit; NaN if its record is invalid. */
export function dueUs(
  cell: usize,
  count: i32,
  i: i32,
  tokenLow: i32,
  tokenHigh: i32,
  fractionLow: i32,
  fractionHigh: i32,
): f64 {
  while (true) {
    const word = load64(cell + CELL_word);
    const generation = generationOf(cell, word);
    const isSound = readLimit(recordAt(blockAt(cell, i), recordOf(word)));
    leaveLive(generation, peekF64(digestsAt(cell, count, recordOf(word)) + DIGEST_sinceUs));
    const zeroTime = peek64(zeroTimeAt(slotAt(cell, count, slotOf(word)), i));
    if (!isStill(cell, word)) continue;
    if (!isSound) return NaN;
    const token = tickOf(joined(tokenLow, tokenHigh), joined(fractionLow, fractionHigh));
    return dueAt(token, zeroTime);
  }
}

/**
 * Returns the tokens to every limit if this admission is the latest not cancelled, and the limits
 * are the same. `low` and `high` are its mark, `beforeLow` and `beforeHigh` the previous one.
 */
export function cancel(
  cell: usize,
  count: i32,
  low: i32,
  high: i32,
  beforeLow: i32,
  beforeHigh: i32,
  limit: i32,
  tokens: f64,
): bool {
  const mark = joined(low, high);
  const before = joined(beforeLow, beforeHigh);
  if (!takeSpare(cell, count)) return false;
  while (true) {
    const word = load64(cell + CELL_word);
    const slot = slotAt(cell, count, slotOf(word));
    const isLatest = peek64(slot + SLOT_mark) == mark && limitOf(cell, word) == limit;
    if (!isLatest || mark == before) {
      if (!isStill(cell, word)) continue;
      restSpare();
      return isLatest;
    }
    const digests = digestsAt(cell, count, recordOf(word));
    for (let i = 0; i < count; i++) {
      readDigest(digests + i * DIGEST_BYTES);
      writeI64(zeroTimeAt(spareAt, i), peek64(zeroTimeAt(slot, i)) - costOf(tokens));
    }
    writeI64(spareAt + SLOT_mark, before);
    const next = wordAfter(word, spare, recordOf(word));
    if (exchangeWord(cell, count, word, next) != word) continue;
    if (isLearnt(cell)) remember(next, knownUs);
    restSpare();
    return true;
  }
}
