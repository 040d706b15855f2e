import { exchange64, load64 } from '../accesses';
import { joined } from '../arithmetic';
import { fillTicks, findIndex, originUs, tickOf, ticksPerMicro } from './limit';
import { originOffsetUs } from './reconfigure';
import {
  epochOf,
  isLearnt,
  isStill,
  knownEpoch,
  knownLimit,
  knownUs,
  limitOf,
  readRecord,
  remember,
} from './record';
import { CELL_word, INDEX_BITS } from '../constants';
import { word as written } from '../results';

// Reserved tokens: when they are due, and how they are returned.

/** Computes the index of the last admission's last token, which is not due yet. */
export function findPromise(): void {
  findIndex(written >> INDEX_BITS);
}

/** The epochs of the record that admitted it and of that record's limit. */
export function promiseEpoch(): i32 {
  return knownEpoch;
}

export function promiseLimit(): i32 {
  return knownLimit;
}

let epoch: i32 = 0;
let liveSince: f64 = 0;

export function leaveLive(live: i32, sinceUs: f64): void {
  epoch = live;
  liveSince = sinceUs;
}

/** The epoch of the live record, and the instant at which it went live. */
export function liveEpoch(): i32 {
  return epoch;
}

export function liveSinceUs(): f64 {
  return liveSince;
}

/** Reads the live record; false if it is invalid. */
function readLive(cell: usize, word: i64): bool {
  if (!readRecord(cell, word)) return false;
  const live = epochOf(cell, word);
  leaveLive(live, originUs + originOffsetUs(fillTicks, ticksPerMicro, live));
  return true;
}

/** The instant of the tick at which a token is due under the limit read; Infinity if paused. */
export function dueAt(token: i64, zeroTime: i64): f64 {
  // All tokens are due when the whole debt is paid, which takes at most 4.4 years.
  const tick = min(token, zeroTime) as f64;
  if (ticksPerMicro == 0) return tick > 0 ? Infinity : originUs;
  const fill = fillTicks == 0 ? tick : ceil(tick / fillTicks) * fillTicks;
  return originUs + fill / ticksPerMicro;
}

/** When the token with an index is due under the live limit; NaN if the record is invalid. */
export function dueUs(
  cell: usize,
  tokenLow: i32,
  tokenHigh: i32,
  fractionLow: i32,
  fractionHigh: i32,
): f64 {
  while (true) {
    const word = load64(cell + CELL_word);
    const isSound = readLive(cell, word);
    if (!isStill(cell, word)) continue;
    if (!isSound) return NaN;
    const token = tickOf(joined(tokenLow, tokenHigh), joined(fractionLow, fractionHigh));
    return dueAt(token, word >> INDEX_BITS);
  }
}

/** Returns the cost to the bucket, if the word is unchanged since the admission. */
export function cancel(cell: usize, low: i32, high: i32, costLow: i32, costHigh: i32): bool {
  const word = joined(low, high);
  const before = word - joined(costLow, costHigh);
  if (exchange64(cell + CELL_word, word, before) != word) return false;
  if (isLearnt(cell)) remember(before, knownUs);
  return true;
}

/**
 * Returns the cost, if since then tokens were only returned, none taken, and the limit is the same.
 */
export function cancelMoved(
  cell: usize,
  limit: i32,
  tokenLow: i32,
  tokenHigh: i32,
  fractionLow: i32,
  fractionHigh: i32,
  costLow: i32,
  costHigh: i32,
): bool {
  while (true) {
    const word = load64(cell + CELL_word);
    const isSame = readRecord(cell, word) && limitOf(cell, word) == limit;
    if (!isStill(cell, word)) continue;
    if (!isSame) return false;
    const tick = tickOf(joined(tokenLow, tokenHigh), joined(fractionLow, fractionHigh));
    if (tick != word >> INDEX_BITS) return false;
    const before = word - joined(costLow, costHigh);
    if (exchange64(cell + CELL_word, word, before) == word) return true;
  }
}
