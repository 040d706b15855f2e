import { peek64, readI64, writeI64 } from '../accesses';
import { ticksUp } from '../arithmetic';
import { KEYED_SLOT_holding, KEYED_SLOT_mark, MAX_SPAN_TICKS } from '../constants';
import { decision, floored } from '../decision';
import { forgotten } from '../keyed/claim';
import { capOf, count, priceOf, useLimit } from './limits';
import { signSpare, spareAt, zeroTimeAt } from './slot';
import { known } from '../keyed/limits';
import { nowTicks, renewInstant } from '../keyed/state';
import { costOf } from '../bucket/limit';
import { reportOutcome } from '../results';

// Decides under every limit of a key, and writes an admission's zero-times into the spare slot.

/** How a call changes the zero-times. */
export const TAKE = 0;
/** Takes even more than a bucket holds. */
export const CHARGE = 1;
/** Empties the bucket until a tick. */
export const BLOCK = 2;

/** Instead of a slot: the key has no bucket. */
export const FIRST_SIGHT: usize = 0;

// The call.
let way: i32 = TAKE;
let tokens: f64 = 0;
let maxWait: f64 = 0;
let until: i64 = 0;
/** The instant of a call that reports the state of every limit; otherwise NaN. */
let reportUs: f64 = NaN;

// The results of the last survey.
/** Whether no limit loses tokens. */
export let isFree: bool = false;
/** The tick at which the tokens are due under every limit. */
export let dueTick: i64 = 0;
/** The tick at which a key without a bucket is full, and the least zero-time. */
let first: i64 = 0;
let lift: i64 = 0;

/** Sets the aim of the next surveys. Times are in ticks. */
export function aim(what: i32, n: f64, longest: f64, end: i64): void {
  way = what;
  tokens = n;
  maxWait = longest;
  until = end;
  reportUs = NaN;
}

/** Makes the next surveys that take tokens report the state afterwards. */
export function aimToReport(nowUs: f64, n: f64): void {
  aim(TAKE, n, 0, 0);
  reportUs = nowUs;
}

/**
 * The tick at which a key without a bucket is full: now, unless the clock was set back since a
 * bucket was reclaimed, because that bucket may have been this key's.
 */
export function firstTick(): i64 {
  if (forgotten() > nowTicks) renewInstant();
  return max(forgotten(), nowTicks);
}

/**
 * Reads a slot's zero-times. Reserved tokens wait for one limit; meanwhile the others must not gain
 * more than under the limits of the reservation. So if the limits have changed since, every limit
 * is empty when the tokens are due.
 */
export function openSlot(slot: usize): void {
  lift = i64.MIN_VALUE;
  if (slot == FIRST_SIGHT) {
    first = firstTick();
    return;
  }
  if ((peek64(slot + KEYED_SLOT_holding) as i32) == known) return;
  let due = nowTicks;
  for (let i = 0; i < count; i++) due = max(due, peek64(zeroTimeAt(slot, i)));
  if (due > nowTicks) lift = due;
}

/** The zero-time of a limit in an open slot. */
export function zeroTimeIn(slot: usize, i: i32): i64 {
  return max(peek64(zeroTimeAt(slot, i)), lift);
}

/** The zero-time of a limit, raised to its floor. */
function zeroTimeOf(slot: usize, i: i32, cap: i64): i64 {
  if (slot == FIRST_SIGHT) return first - cap;
  return floored(zeroTimeIn(slot, i), nowTicks, cap);
}

/** The longest wait in ticks, LATER or NEVER. */
export function survey(slot: usize): f64 {
  openSlot(slot);
  isFree = true;
  dueTick = nowTicks;
  let refusal: f64 = 0;
  let longest: f64 = 0;
  for (let i = 0; i < count; i++) {
    const price = priceOf(i);
    const cap = capOf(i, price);
    const zeroTime = zeroTimeOf(slot, i, cap);
    const cost = way == BLOCK ? blockade(zeroTime, price) : ticksUp(tokens, price);
    const next = zeroTime + cost;
    if (cost != 0) isFree = false;
    // A floored zero-time is at most the burst back, so this covers a cost above the burst.
    if (next > nowTicks && way != BLOCK) {
      const most = way == CHARGE ? MAX_SPAN_TICKS : cap;
      const wait = decision(zeroTime, nowTicks, most, cost, maxWait, 0, 0);
      if (wait < 0) refusal = min(refusal, wait);
      else if (wait > 0) dueTick = max(dueTick, next);
      longest = max(longest, wait);
    }
    writeI64(zeroTimeAt(spareAt, i), next);
  }
  return refusal < 0 ? refusal : longest;
}

/** The cost of emptying a limit until the end of a block. A longer debt stays. */
function blockade(zeroTime: i64, price: f64): i64 {
  return price == 0 ? 0 : max<i64>(until - zeroTime, 0);
}

/** Copies the zero-times to the spare slot, raised to their floors. */
export function copy(slot: usize): void {
  aim(TAKE, 0, 0, 0);
  survey(slot);
}

/** The ticks that the spare slot holds under a limit. */
export function heldUnder(i: i32): i64 {
  return nowTicks - readI64(zeroTimeAt(spareAt, i));
}

/** Writes the mark of the latest admission, and its limits, into the spare slot. */
export function sign(mark: i64): void {
  writeI64(spareAt + KEYED_SLOT_mark, mark);
  signSpare(known);
}

/** Fills the spare slot with the contents of a key without a place: the full burst, or nothing. */
export function copyNobody(isFull: bool): void {
  for (let i = 0; i < count; i++) {
    writeI64(zeroTimeAt(spareAt, i), isFull ? nowTicks - capOf(i, priceOf(i)) : nowTicks);
  }
}

/** Reports the state after a survey, if requested. After a refusal that is the state found. */
export function reportSurvey(wait: f64): void {
  // NaN differs from itself.
  if (reportUs != reportUs) return;
  for (let i = 0; wait < 0 && i < count; i++) {
    const at = zeroTimeAt(spareAt, i);
    writeI64(at, readI64(at) - ticksUp(tokens, priceOf(i)));
  }
  reportAll(reportUs, tokens, wait == 0);
}

/** Reports the state of every limit in the spare slot after a decision about `n` tokens. */
export function reportAll(nowUs: f64, n: f64, isAdmitted: bool): void {
  for (let i = 0; i < count; i++) {
    useLimit(i);
    reportOutcome(i, nowUs, heldUnder(i) as f64, costOf(n) as f64, isAdmitted);
  }
}

/** Whether a bucket can never hold this many tokens. */
export function exceeds(n: f64): bool {
  for (let i = 0; i < count; i++) {
    const price = priceOf(i);
    if (ticksUp(n, price) > capOf(i, price)) return true;
  }
  return false;
}
