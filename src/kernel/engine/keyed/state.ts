import { exchange64, readI64 } from '../accesses';
import { scale } from '../arithmetic';
import {
  burst,
  capTicks,
  countedTick,
  fillAt,
  fillTicks,
  keepOrigin,
  keptTicks,
  nearestTick,
  newCapTicks,
  newFillTicks,
  newLimit,
  newTick,
  newTicksPerMicro,
  newTicksPerToken,
  pace,
  ticksPerMicro,
  ticksPerToken,
  useKept,
} from '../bucket/limit';
import {
  FIRST_TICKS,
  KEYED_LIMIT_rest,
  LAST_TICKS,
  MARK_MASK,
  NEVER_SEEN,
  PARITY,
  TABLE_SPAN_TICKS,
  TAG_BITS,
  TAG_MASK,
  TIER_MASK,
  ZERO_TIME_SHIFT,
} from '../constants';
import { floored } from '../decision';
import { readClock } from '../host';
import { gapTicks, mark, paceOf, read, recordBefore, restTicks, tier } from './limits';
import { count, known, limitIn, recordOf, sinceOf } from './records';

// Carries a zero-time from the limit under which it counts to another one.
//
// A change keeps what a bucket holds, up to the new burst, as that of a bucket of its own does. A
// change of the tier keeps what was used: a bucket lacks as many tokens as before of what a key holds
// that took nothing. It keeps a debt's end, unless that becomes later: tokens may be promised until
// then, and what they leave used at that instant stays used. In windows, both keep the count, and
// another tier also keeps the windows that are used up.

/** The tier of a state. Only damaged memory names one that the table does not have. */
export function tierOf(state: i64): i32 {
  const index = ((state as i32) >> TAG_BITS) & TIER_MASK;
  return index < count ? index : 0;
}

/** Whether a state counts under a limit of the record that this call has read. */
export function isUpToDate(state: i64): bool {
  return (((state as i32) ^ mark) & PARITY) == 0;
}

function within(ticks: i64): i64 {
  return max(-TABLE_SPAN_TICKS, min(TABLE_SPAN_TICKS, ticks));
}

/**
 * The instant as of which a change begins for a bucket. Calls may have charged it since the change's
 * own instant `us`: at a higher rate it would refill from before they emptied it, at a lower one it
 * would owe what they took, and a window would end that they counted in.
 */
function beginningOf(us: f64, zeroTime: i64): f64 {
  const before = ticksPerMicro * newTicksPerToken;
  const isFaster = newTicksPerMicro * ticksPerToken > before;
  const isLater = isFaster || fillTicks != 0 || zeroTime > countedTick(us);
  return isLater ? max(us, readClock()) : us;
}

/** A zero-time under the limit read, at a change of it to the new one. */
export function changed(zeroTime: i64, us: f64): i64 {
  if (fillTicks != 0) return counted(zeroTime, us);
  return newTick(us) - within(keptTicks(countedTick(us) - zeroTime));
}

/** Ticks of the limit read in those of the new one, rounded up. */
function converted(ticks: i64): i64 {
  if (ticksPerToken == 0) return 0;
  return -scale(-ticks, newTicksPerToken as i64, ticksPerToken as i64, TABLE_SPAN_TICKS);
}

/** A zero-time under the new tier at an instant, with what was used of an unused bucket by then. */
function keptUsed(zeroTime: i64, at: i64, newAt: i64, rest: i64, newRest: i64): i64 {
  const used = converted(max(zeroTime - max(at - capTicks, rest), 0));
  return max(newAt - newCapTicks, newRest) + used;
}

/** The same at a change of the tier. `rest` and `newRest`: the zero-times of an unused bucket. */
function moved(zeroTime: i64, us: f64, rest: i64, newRest: i64): i64 {
  if (fillTicks != 0) return zeroTime;
  const now = countedTick(us);
  const then = newTick(us);
  let next = keptUsed(zeroTime, now, then, rest, newRest);
  if (zeroTime > max(now, rest)) {
    // At the last promised instant the old burst is used up; the new tier counts from there.
    const debtUs = ((zeroTime - now) as f64) / ticksPerMicro;
    const end = then + (min(ceil(debtUs * newTicksPerMicro), TABLE_SPAN_TICKS as f64) as i64);
    next = max(max(next, end), keptUsed(zeroTime, zeroTime, end, rest, newRest));
  }
  return min(next, LAST_TICKS);
}

/** The number of the window whose count a zero-time is: a full count ends where the next begins. */
function windowOf(zeroTime: i64): i64 {
  const fill = fillTicks as i64;
  const place = zeroTime / fill;
  return place * fill < zeroTime ? place : place - 1;
}

/** The same in windows, whose grid no change moves. */
function counted(zeroTime: i64, us: f64): i64 {
  const perToken = ticksPerToken as i64;
  const most = newTicksPerToken >= 1 ? newCapTicks / (newTicksPerToken as i64) : 0;
  // Only damaged memory has such a limit.
  if (most < 1) return zeroTime;
  const present = countedTick(us) / (fillTicks as i64) - 1;
  let place = windowOf(zeroTime);
  let count = (zeroTime - place * (fillTicks as i64) + perToken - 1) / perToken;
  if (place < present) {
    place = present;
    count = 0;
  } else if (place > present) {
    // What is owed to later windows fills them to the new limit.
    const before = capTicks / perToken;
    const owed = (place - present) * before + min(count, before);
    const later = (owed - 1) / most;
    place = present + later;
    count = owed - later * most;
  }
  return min(place * (newFillTicks as i64) + count * (newTicksPerToken as i64), LAST_TICKS);
}

/** Reads a limit, and the one to which a zero-time is carried from it. */
function readBoth(from: usize, to: usize): void {
  read(to);
  newLimit(pace, burst, ticksPerToken, fillTicks);
  keepOrigin();
  read(from);
}

/** The zero-time of a state under its own tier of the live record. */
function broughtUp(state: i64): i64 {
  const zeroTime = state >> ZERO_TIME_SHIFT;
  if (isUpToDate(state)) return zeroTime;
  const record = recordOf(known);
  readBoth(limitIn(recordBefore(record), tierOf(state)), limitIn(record, tierOf(state)));
  return changed(zeroTime, beginningOf(sinceOf(record), zeroTime));
}

/** {@link broughtUp}, and reads that tier's limit: {@link useKept} ends that. */
export function broughtUpOfOther(state: i64): i64 {
  const zeroTime = broughtUp(state);
  read(limitIn(recordOf(known), tierOf(state)));
  return zeroTime;
}

/** The state after a change, with its tier and tag. */
export function stateBroughtUp(state: i64): i64 {
  if (isUpToDate(state)) return state;
  const next = broughtUp(state);
  useKept();
  const bits = ((state as i32) ^ PARITY) & MARK_MASK;
  return (next << ZERO_TIME_SHIFT) | (bits as i64);
}

/** Brings a live state up to the limits in force, unless it has changed. Returns the state now. */
export function bringStateUp(at: usize, state: i64): i64 {
  const next = stateBroughtUp(state);
  const seen = exchange64(at, state, next);
  return seen == state ? next : seen;
}

/** The zero-time of a state that is up to date under the limit of this call, at an instant. */
export function carried(state: i64, us: f64): i64 {
  let zeroTime = state >> ZERO_TIME_SHIFT;
  const from = tierOf(state);
  if (from != tier) {
    const before = limitIn(recordOf(known), from);
    const after = limitIn(recordOf(known), tier);
    readBoth(before, after);
    const rest = readI64(before + KEYED_LIMIT_rest);
    zeroTime = moved(zeroTime, us, rest, readI64(after + KEYED_LIMIT_rest));
  }
  useKept();
  return zeroTime;
}

/** The zero-time of an unused bucket after the change of a limit. */
export function restAfter(rest: i64, us: f64): i64 {
  return fillTicks == 0 ? changed(rest, us) : NEVER_SEEN;
}

// The state word of a key's bucket, and the instant of the call that reads it.

/** The instant of the call, which may be later than the caller's `nowUs`. */
export let instantUs: f64 = 0;
/** The tick up to which tokens have arrived: a quantum bucket's last fill. */
export let nowTicks: i64 = 0;
/** The time since that fill. */
export let sinceFill: f64 = 0;

/**
 * Beyond 2^53 ticks (4.4 years) the product is rounded to a double. It stays monotonic, and its
 * error is at most that of the clock's own microseconds at that age.
 */
export function setInstant(nowUs: f64): void {
  instantUs = nowUs;
  const nearest = nearestTick(nowUs);
  // NaN counts as a clock that has stepped back as far as possible.
  const tick =
    nearest > (FIRST_TICKS as f64) ? min(nearest, LAST_TICKS as f64) : (FIRST_TICKS as f64);
  const filled = fillAt(tick);
  sinceFill = tick - filled;
  nowTicks = (filled as i64) - gapTicks;
}

/** Reads the clock again for the instant: a call never moves back in time. */
export function renewInstant(): void {
  setInstant(max(instantUs, readClock()));
}

/** The longest wait, or the longest debt, in ticks. */
export function longestWait(): f64 {
  return min(TABLE_SPAN_TICKS, LAST_TICKS - nowTicks) as f64;
}

/** The live state with a zero-time under the limit of this call. */
export function stateOf(zeroTime: i64, tag: i32): i64 {
  return (zeroTime << ZERO_TIME_SHIFT) | ((mark | tag) as i64);
}

/** Whether a live state counts under the limit of this call. */
export function isOurs(state: i64): bool {
  return ((state as i32) & MARK_MASK & ~(TAG_MASK as i32)) == mark;
}

/** Whether a state that is up to date counts under a slower tier than that of this call. */
export function isSlower(state: i64): bool {
  return !isOurs(state) && paceOf(tierOf(state)) < paceOf(tier);
}

/**
 * The zero-time of a state that is up to date under the limit of this call, raised to its floor.
 */
export function zeroTimeOf(state: i64): i64 {
  let zeroTime = state >> ZERO_TIME_SHIFT;
  if (!isOurs(state)) zeroTime = carriedNow(state);
  return floored(zeroTime, nowTicks, capTicks);
}

/** The tier changes at an instant after all charges that the state counts. */
function carriedNow(state: i64): i64 {
  renewInstant();
  return carried(state, instantUs);
}

/** {@link zeroTimeOf}, not compiled into its callers. */
export function currentZeroTime(state: i64): i64 {
  return zeroTimeOf(state);
}

/** The zero-time of a key that took nothing since the table's creation. */
export function restNow(): i64 {
  return max(nowTicks - capTicks, restTicks);
}

// In windows, a zero-time is the window's fill plus the count. If a limit is shorter than the fill,
// a charge of more than is left goes on in the next windows.

/** The ticks taken from the present window on. The limit may be less than the count of a window. */
function owedAt(zeroTime: i64): i64 {
  const since = zeroTime - nowTicks + capTicks;
  const fill = fillTicks as i64;
  const ahead = since / fill;
  return ahead * capTicks + min(since - ahead * fill, capTicks);
}

function zeroTimeOwing(owed: i64): i64 {
  const later = owed <= capTicks ? 0 : (owed - 1) / capTicks;
  return nowTicks - capTicks + owed + later * gapTicks;
}

function advancedWindow(zeroTime: i64, cost: i64): i64 {
  return zeroTimeOwing(owedAt(zeroTime) + cost);
}

/** A floored zero-time after a cost. */
export function advanced(zeroTime: i64, cost: i64): i64 {
  return gapTicks == 0 ? zeroTime + cost : advancedWindow(zeroTime, cost);
}

/** What a bucket with these ticks holds, in ticks that were not taken. */
export function heldBefore(held: i64): i64 {
  return gapTicks == 0 ? held : capTicks - owedAt(nowTicks - held);
}

/** The ticks that arrive within a span since the last fill, except at its end. */
export function costOfSpan(span: i64): i64 {
  if (fillTicks == 0) return span;
  const fill = fillTicks as i64;
  return ((span + fill - 1) / fill - 1) * fill;
}
