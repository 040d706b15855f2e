import { load64, peek64, writeI64 } from '../accesses';
import { highOf, joined, ticksDown } from '../arithmetic';
import { AGAIN, CROWDED, DAMAGED, MAX_SPAN_TICKS, NO_PLACE } from '../constants';
import { count, known, limitIn } from '../keyed/records';
import { ANY, isKeyed, isLive, isOwned, shared, STATE } from '../keyed/table';
import { begin, chargeKey, isNothing, openEntry } from './charge';
import { addedTo, aim, BLOCK, isPromised, lastMoved, newIndex, tokens } from './decision';
import {
  capOf,
  flowOf,
  instantUs,
  learn,
  live,
  pace,
  priceOf,
  restOf,
  sinceRecord,
  speedOf,
  tickAt,
  unitsOf,
} from './record';
import {
  bringForward,
  dueIn,
  forget,
  forgottenUs,
  isFrozen,
  isPast,
  presentOf,
  promisedAnchor,
  promisedAt,
} from './schedule';
import {
  chargedUsOf,
  copySchedule,
  end,
  hasSchedule,
  hasSpare,
  indexOf,
  isHeld,
  lastUsOf,
  limitsOf,
  replace,
  signSpare,
  slotAt,
  slotOf,
  spareAt,
  spareZeroTime,
  takeSpare,
  writeCharge,
  writeLast,
  zeroTimeAt,
} from './slot';
import { failBecause, failed } from '../results';

// Moves zero-times back: returned tokens, and cancelled admissions. And when promises are due.

/** More ticks than any debt. */
const ALL: i64 = 2 * MAX_SPAN_TICKS;

/** Empties a bucket for a time: 0, NO_PLACE, also if all limits are unlimited, AGAIN or a failure. */
export function emptyOnce(us: f64): f64 {
  aim(BLOCK, 0, 0, us, false);
  return isNothing(1) ? NO_PLACE : chargeKey(1, ANY);
}

/**
 * Returns tokens, or fills the bucket and forgets what is promised: 1 if promised tokens moved up, it
 * was filled, or it holds more for callers with forgotten promises, 0, AGAIN or a failure.
 */
export function giveBackOnce(entry: usize, tokens: f64): f64 {
  const fills = tokens == Infinity;
  const state = load64(entry + STATE);
  const opened = openEntry(entry, state);
  if (opened != 0) return opened;
  const slot = slotAt(slotOf(entry, state));
  const isPending = isPromised(slot);
  const isScheduled = hasSchedule(slot);
  const isAwaited = isPending || fills || forgottenUs(slot) > instantUs;
  // After a reset, the admission before it is no longer the latest: its tokens are back already.
  writeCharge(indexOf(slot) + (fills ? 1 : 0), chargedUsOf(slot));
  let moved = false;
  if (isPending && !fills) {
    // During a pause, nothing of the schedule has an instant that could move.
    if (isFrozen(slot) || tokens == 0) return 0;
    moveUp(slot, tokens);
    moved = true;
  } else {
    moved = fillBy(slot, tokens, fills) || isPending;
    if (isPending) forget(slot, instantUs);
    else if (isScheduled) copySchedule(slot);
    writeLast(isPending ? -Infinity : lastUsOf(slot));
    signSpare(known, isScheduled || isPending);
  }
  const isDone = moved ? replace(entry, state) : load64(entry + STATE) == state;
  if (!isDone) return AGAIN;
  return moved && isAwaited ? 1 : 0;
}

/** Moves the promised instants and all zero-times up, by as much as the fastest limit allows. */
function moveUp(slot: usize, tokens: f64): void {
  const shift = bringForward(slot, instantUs, tokens);
  for (let i = 0; i < count; i++) {
    const limit = limitIn(live, i);
    const back = floor(shift * pace(priceOf(limit), flowOf(limit))) as i64;
    writeI64(zeroTimeAt(spareAt, i), peek64(zeroTimeAt(slot, i)) - back);
  }
  writeLast(lastUsOf(slot) - shift);
  signSpare(known, true);
}

/**
 * The zero-time of a full bucket at its tick `now`. A key holds at most what one holds that took
 * nothing, because a full bucket is forgotten.
 */
function fullest(limit: usize, now: i64): i64 {
  const full = now - capOf(limit);
  return isKeyed ? max(full, restOf(limit)) : full;
}

/** Puts tokens into the bucket of no promised ones; false if it is full already. */
function fillBy(slot: usize, tokens: f64, fills: bool): bool {
  let moved = false;
  for (let i = 0; i < count; i++) {
    const limit = limitIn(live, i);
    const now = tickAt(sinceRecord(live, instantUs), speedOf(limit));
    const floor = fullest(limit, now);
    const before = peek64(zeroTimeAt(slot, i));
    const back = fills ? ALL : ticksDown(tokens, priceOf(limit) as f64);
    const next = before <= floor ? before : max(before - back, floor);
    if (next != before) moved = true;
    writeI64(zeroTimeAt(spareAt, i), next);
  }
  return moved;
}

/** Stages what an admission added to a zero-time, for {@link cancel}: 0 or a failure. */
export function stage(high: u32, low: u32, i: i32, addedLow: i32, addedHigh: i32): f64 {
  if (i == 0 && !begin(high, low, 0)) return failed;
  if (!takeSpare()) return CROWDED;
  writeI64(zeroTimeAt(spareAt, i), joined(addedLow, addedHigh));
  return 0;
}

/**
 * Cancels the admission whose additions are staged, if it is the latest that was not cancelled, and
 * the limits are the same: 1, 0, or AGAIN if another thread was faster: stage it again.
 */
export function cancel(
  entry: i32,
  high: i32,
  version: i32,
  indexLow: i32,
  indexHigh: i32,
  limits: i32,
  tokens: f64,
  moved: f64,
): f64 {
  if (entry == 0) return end(isNothing(tokens) ? 1 : 0);
  const at = (entry as usize) << 3;
  const state = load64(at + STATE);
  // Recovery may have taken the slot in which the additions are.
  if (!isHeld()) return end(AGAIN);
  if (at != shared && (!isLive(state) || !isOwned(at, joined(version, high)))) return end(0);
  const slot = slotAt(slotOf(at, state));
  if (indexOf(slot) != joined(indexLow, indexHigh) || limitsOf(slot) != limits) {
    return end(load64(at + STATE) == state ? 0 : AGAIN);
  }
  for (let i = 0; i < count; i++) {
    writeI64(zeroTimeAt(spareAt, i), peek64(zeroTimeAt(slot, i)) - spareZeroTime(i));
  }
  writeCharge(indexOf(slot) - unitsOf(tokens), chargedUsOf(slot));
  const last = lastUsOf(slot) - moved;
  // A pause ends for the contents when nothing is promised any more.
  writeLast(last > presentOf(slot, -Infinity) ? last : -Infinity);
  const isScheduled = hasSchedule(slot);
  if (isScheduled) copySchedule(slot);
  signSpare(limits, isScheduled);
  return end(replace(at, state) ? 1 : AGAIN);
}

/**
 * When the tokens of a promise are due under the limits in force: Infinity during a pause. If the
 * bucket was reclaimed, they were due long ago. NaN after a failure.
 */
export function dueUs(
  high: u32,
  low: u32,
  entry: i32,
  version: i32,
  indexLow: i32,
  indexHigh: i32,
  virtual: f64,
  anchor: i32,
): f64 {
  if (!begin(high, low, 0)) return NaN;
  const at = (entry as usize) << 3;
  while (true) {
    if (at != shared && !isOwned(at, joined(version, high))) return end(-Infinity);
    const state = load64(at + STATE);
    if (at != shared && !isLive(state)) return end(-Infinity);
    const opened = openEntry(at, state);
    if (opened == AGAIN && learn()) continue;
    if (opened != 0) {
      failBecause(opened == AGAIN ? DAMAGED : opened);
      return end(NaN);
    }
    const due = dueIn(slotAt(slotOf(at, state)), joined(indexLow, indexHigh), virtual, anchor);
    if (load64(at + STATE) == state) return end(due);
  }
}

/** Whether the promise was due when its schedule began, and can move no more. */
export function wasDue(): bool {
  return isPast;
}

// The last admission: its tokens, the index of the last one, its promise, its additions, and the word
// of its limits.

export function receiptTokens(): f64 {
  return tokens;
}

export function indexLow(): i32 {
  return newIndex as i32;
}

export function indexHigh(): i32 {
  return highOf(newIndex);
}

export function promiseVirtual(): f64 {
  return promisedAt;
}

export function promiseAnchor(): i32 {
  return promisedAnchor;
}

let added: i64 = 0;

/** What the admission added to a zero-time, in halves. Call it for the low half first. */
export function addedLow(i: i32): i32 {
  added = hasSpare() ? addedTo(i) : 0;
  return added as i32;
}

export function addedHigh(): i32 {
  return highOf(added);
}

/** How far the admission moved the last promised instant. */
export function movedUs(): f64 {
  return lastMoved;
}

/** The word of its limits; -1 if it cannot be cancelled, because its previous slot is gone. */
export function limitsWord(): i32 {
  return hasSpare() ? known : -1;
}
