import { peek64, writeI64 } from '../accesses';
import { usOfUnits } from '../arithmetic';
import { LATER, MAX_SPAN_TICKS, NEVER } from '../constants';
import { floored } from '../decision';
import { readClock } from '../host';
import { watermark } from '../keyed/claim';
import { count, known, limitIn, sinceOf } from '../keyed/records';
import {
  capOf,
  costOf,
  flowOf,
  instantUs,
  isPaused,
  live,
  pace,
  priceOf,
  restOf,
  setInstant,
  sinceRecord,
  speedOf,
  tickAt,
  ticksIn,
  unitsOf,
  useLimit,
} from './record';
import { isFrozen, isPending, presentOf, promise } from './schedule';
import {
  chargedUsOf,
  copySchedule,
  indexOf,
  lastUsOf,
  signSpare,
  spareAt,
  spareZeroTime,
  writeCharge,
  writeLast,
  zeroTimeAt,
} from './slot';
import { reportOutcome } from '../results';

// Decides under every limit, and writes the zero-times of an admission into the spare slot.
//
// An admission is granted for the instant D at which the last limit has its tokens, or for the last
// promised one, whichever is later. Every limit fills up to D, not to now, so each is a plain bucket
// at the granted instants, whatever the others do.

/** How a call changes the zero-times. */
export const TAKE = 0;
/** Takes even more than a bucket holds. */
export const CHARGE = 1;
/** Empties the bucket for a time. */
export const BLOCK = 2;

/** Instead of a slot: the key has no bucket. */
export const FIRST_SIGHT: usize = 0;

const NEVER_US: f64 = -Infinity;

// The call.
let way: i32 = TAKE;
export let tokens: f64 = 0;
let maxWaitUs: f64 = 0;
let blockUs: f64 = 0;
/** Whether the call reports the state of every limit. */
export let reports: bool = false;

// The results of the last decision.
/** Whether no limit loses tokens. */
export let isFree: bool = false;
/** The index of the last token. */
export let newIndex: i64 = 0;
/** How far the last promised instant moved. */
export let lastMoved: f64 = 0;
/** From the present of the slot to the granted instant, in microseconds. */
let span: f64 = 0;
/** Whether the tokens were promised for later. */
let isLater: bool = false;
let presentUs: f64 = 0;
/** The instant at which a key without a bucket is full. */
let firstUs: f64 = 0;
let isFirst: bool = false;

/** Sets the aim of the next decisions. */
export function aim(what: i32, n: f64, longestUs: f64, us: f64, isReported: bool): void {
  way = what;
  tokens = n;
  maxWaitUs = longestUs;
  blockUs = us;
  reports = isReported;
}

/**
 * The instant of a key without a bucket: now, unless the clock was set back since a bucket was
 * reclaimed, because that bucket may have been this key's, and was full then.
 */
function findFirst(): void {
  if (usOfUnits(watermark()) > instantUs) setInstant(max(instantUs, readClock()));
  firstUs = max(usOfUnits(watermark()), instantUs);
}

/**
 * The zero-time of a limit, raised to its floor at its tick `now`. An unlimited one is full, even if
 * the clock was set back.
 */
function zeroTimeOf(slot: usize, i: i32, limit: usize, now: i64): i64 {
  if (priceOf(limit) == 0) return now;
  if (slot != FIRST_SIGHT) return floored(peek64(zeroTimeAt(slot, i)), now, capOf(limit));
  return floored(restOf(limit), tickAt(sinceRecord(live, firstUs), speedOf(limit)), capOf(limit));
}

/** The latest promised instant; no promise is due later. */
function lastPromised(slot: usize): f64 {
  return slot == FIRST_SIGHT ? NEVER_US : lastUsOf(slot);
}

/** Whether a limit lacks tokens. */
let lacks: bool = false;

/** Adds the cost to each zero-time. Returns 0 if all are free. */
function chargeAll(slot: usize, since: f64): i64 {
  // Locals: each write to memory would read globals anew.
  const into = spareAt;
  const limits = count;
  const record = live;
  const n = tokens;
  let costs: i64 = 0;
  let isShort = false;
  for (let i = 0; i < limits; i++) {
    const limit = limitIn(record, i);
    const now = tickAt(since, speedOf(limit));
    const cost = costOf(n, priceOf(limit));
    const next = zeroTimeOf(slot, i, limit, now) + cost;
    if (next > now) isShort = true;
    costs |= cost;
    writeI64(zeroTimeAt(into, i), next);
  }
  lacks = isShort;
  return costs;
}

/** Finds the time until no limit lacks tokens. Returns LATER or NEVER if that is too long, or 0. */
function findSpan(since: f64): f64 {
  let refusal: f64 = 0;
  for (let i = 0; i < count; i++) {
    const limit = limitIn(live, i);
    // A floored zero-time is at most the burst back, so this covers a cost above the burst.
    const lack = spareZeroTime(i) - tickAt(since, speedOf(limit));
    if (lack <= 0) continue;
    span = max(span, (lack as f64) / pace(priceOf(limit), flowOf(limit)));
    if (lack > MAX_SPAN_TICKS) refusal = min(refusal, LATER);
    if (way == TAKE && costOf(tokens, priceOf(limit)) > capOf(limit)) refusal = NEVER;
  }
  return refusal;
}

/** Empties each limit for a time. A longer debt stays. Returns 0 if all stay. */
function blockAll(slot: usize, since: f64): i64 {
  let costs: i64 = 0;
  for (let i = 0; i < count; i++) {
    const limit = limitIn(live, i);
    const now = tickAt(since, speedOf(limit));
    const zeroTime = zeroTimeOf(slot, i, limit, now);
    const until = priceOf(limit) == 0 ? zeroTime : now + ticksIn(blockUs, speedOf(limit));
    costs |= max<i64>(until - zeroTime, 0);
    writeI64(zeroTimeAt(spareAt, i), max(zeroTime, until));
  }
  lacks = false;
  return costs;
}

/** The wait in microseconds, LATER or NEVER. */
export function decideFrom(slot: usize, isScheduled: bool): f64 {
  isFirst = slot == FIRST_SIGHT;
  if (isFirst) findFirst();
  presentUs = isScheduled ? presentOf(slot, instantUs) : instantUs;
  const since = sinceRecord(live, presentUs);
  isFree = (way == BLOCK ? blockAll(slot, since) : chargeAll(slot, since)) == 0;
  span = 0;
  const refusal = lacks ? findSpan(since) : 0;
  const last = lastPromised(slot);
  const isPending = last > presentUs || (isScheduled && isFrozen(slot));
  // After a block, the admission before it is no longer the latest: to cancel it would shorten it.
  newIndex = (isFirst ? 0 : indexOf(slot)) + (way == BLOCK ? 1 : unitsOf(tokens));
  lastMoved = 0;
  isLater = false;
  queueUs = isPending && isPaused ? Infinity : last - instantUs;
  writeCharge(newIndex, isFirst ? instantUs : max(chargedUsOf(slot), instantUs));
  writeLast(last);
  if (refusal < 0) return refusal;
  if (way == TAKE && (lacks || isPending) && !isFree) return grantLater(slot, since, last);
  if (way == CHARGE && isPending) fillUpTo(since, max<f64>(last - presentUs, 0));
  if (isScheduled) copySchedule(slot);
  signSpare(known, isScheduled);
  return way == CHARGE ? debt(since) : 0;
}

/** Promises the tokens for an instant that is not before the last promised one. */
function grantLater(slot: usize, read: f64, last: f64): f64 {
  // The schedule of a pause has no instants. A refusal reports the contents as of this call.
  if (isPaused && maxWaitUs < Infinity) return LATER;
  let since = read;
  if (isPaused && (isFirst || !isFrozen(slot))) {
    // An old reading must not stop the schedule before others took what it would then owe.
    const takenUs = isFirst ? sinceOf(live) : chargedUsOf(slot);
    if (presentUs < takenUs) {
      presentUs = takenUs;
      since = sinceRecord(live, takenUs);
      chargeAll(slot, since);
      span = 0;
      findSpan(since);
    }
  }
  span = max(span, last - presentUs);
  const wait = isPaused ? Infinity : span;
  if (!(wait <= maxWaitUs)) return LATER;
  isLater = true;
  fillUpTo(since, span);
  const grantedUs = presentUs + span;
  lastMoved = grantedUs - max(last, presentUs);
  writeLast(grantedUs);
  signSpare(known, promise(slot, grantedUs, presentUs));
  return wait;
}

/** The tick of a limit at a distance from the present. */
function tickAfter(limit: usize, since: f64, us: f64): i64 {
  return tickAt(since, speedOf(limit)) + ticksIn(us, pace(priceOf(limit), flowOf(limit)));
}

/** Raises the zero-times in the spare slot to their floors at a distance from the present. */
function fillUpTo(since: f64, us: f64): void {
  for (let i = 0; i < count; i++) {
    const limit = limitIn(live, i);
    const first = tickAfter(limit, since, us) - capOf(limit) + costOf(tokens, priceOf(limit));
    writeI64(zeroTimeAt(spareAt, i), max(spareZeroTime(i), first));
  }
}

/** The longest time until a limit in the spare slot holds a token again. */
function debt(since: f64): f64 {
  let longest: f64 = 0;
  for (let i = 0; i < count; i++) {
    const limit = limitIn(live, i);
    if (priceOf(limit) == 0) continue;
    const owed = spareZeroTime(i) - tickAt(since, speedOf(limit));
    if (owed > MAX_SPAN_TICKS) return LATER;
    if (owed > 0) longest = max(longest, (owed as f64) / speedOf(limit));
  }
  return longest;
}

/**
 * The ticks that the last admission added to a zero-time. Its previous slot is the spare one since
 * the exchange.
 */
export function addedTo(i: i32): i64 {
  const limit = limitIn(live, i);
  const since = sinceRecord(live, presentUs);
  const slot = isFirst ? FIRST_SIGHT : spareAt;
  const zeroTime = zeroTimeOf(slot, i, limit, tickAt(since, speedOf(limit)));
  const before = isFirst ? zeroTime : peek64(zeroTimeAt(slot, i));
  const cost = costOf(tokens, priceOf(limit));
  const floor = isLater ? tickAfter(limit, since, span) - capOf(limit) : zeroTime;
  return max(zeroTime, floor) + cost - before;
}

/** Copies the contents to the spare slot, raised to the floors of now. */
export function copy(slot: usize, isScheduled: bool): void {
  aim(TAKE, 0, 0, 0, false);
  decideFrom(slot, isScheduled);
}

/** Whether the slot that was decided on last has promised tokens that are not due yet. */
export function isPromised(slot: usize): bool {
  return slot != FIRST_SIGHT && isPending(slot, instantUs);
}

/** The ticks that the spare slot holds under a limit. */
export function heldUnder(i: i32): i64 {
  const limit = limitIn(live, i);
  return tickAt(sinceRecord(live, presentUs), speedOf(limit)) - spareZeroTime(i);
}

/** Fills the spare slot with the contents of a key without a place: the full burst, or nothing. */
export function copyNobody(isFull: bool): void {
  presentUs = instantUs;
  queueUs = 0;
  for (let i = 0; i < count; i++) {
    const limit = limitIn(live, i);
    const now = tickAt(sinceRecord(live, instantUs), speedOf(limit));
    writeI64(zeroTimeAt(spareAt, i), isFull ? now - capOf(limit) : now);
  }
}

/** From now to the latest promised instant; negative if that has passed. */
export let queueUs: f64 = 0;

/** Reports the state after a decision. After a refusal that is the state found. */
export function reportDecision(wait: f64): void {
  for (let i = 0; wait < 0 && i < count; i++) {
    const cost = costOf(tokens, priceOf(limitIn(live, i)));
    writeI64(zeroTimeAt(spareAt, i), spareZeroTime(i) - cost);
  }
  reportAll(tokens, wait == 0);
}

/** Reports the state of every limit in the spare slot after a decision about `n` tokens. */
export function reportAll(n: f64, isAdmitted: bool): void {
  for (let i = 0; i < count; i++) {
    const limit = limitIn(live, i);
    useLimit(limit);
    const cost = costOf(n, priceOf(limit)) as f64;
    reportOutcome(i, instantUs, heldUnder(i) as f64, cost, isAdmitted, queueUs);
  }
}

/** Whether a bucket can never hold this many tokens. */
export function exceeds(n: f64): bool {
  for (let i = 0; i < count; i++) {
    const limit = limitIn(live, i);
    if (costOf(n, priceOf(limit)) > capOf(limit)) return true;
  }
  return false;
}
