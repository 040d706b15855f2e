import { load32, peek64, peekF64, writeI64 } from '../accesses';
import { scale, ticksUp } from '../arithmetic';
import {
  AGAIN,
  MAX_SPAN_TICKS,
  SCHEDULE_anchor,
  SCHEDULE_atUs,
  SCHEDULE_forgotten,
  SCHEDULE_lowered,
  SCHEDULE_slope,
  SCHEDULE_upTo,
  SCHEDULE_virtualAt,
} from '../constants';
import { count, isInForce, known, limitIn, sinceOf, recordOf } from '../keyed/records';
import {
  burstOf,
  capOf,
  flowOf,
  INDEX_UNITS,
  isPaused,
  live,
  pace,
  priceOf,
  sinceRecord,
  speedOf,
  tickAt,
  ticksIn,
} from './record';
import {
  chargedUsOf,
  hasSchedule,
  indexOf,
  lastUsOf,
  limitsOf,
  replace,
  scheduleAt,
  signSpare,
  slotAt,
  spareAt,
  writeCharge,
  writeLast,
  writeSchedule,
  zeroTimeAt,
} from './slot';

// When promised tokens are due, and how a change of the limits moves them.
//
// A promise keeps its virtual instant. Without a schedule, that is its real one. A schedule maps
// virtual to real instants: real = at + (virtual - virtualAt) * slope. Virtual instants up to
// virtualAt were due at `at`. A promise also keeps the index of its last token and the anchor of the
// schedule. Where the anchor has changed since, its virtual instant is index - upTo, in tokens.
//
// A change at T while tokens are promised takes the earlier of two schedules:
//   stretch: all distances grow by the largest old rate / new rate, and each limit holds at the
//     last promised instant what it held there before;
//   restart: P bounds the pending tokens: the least of rate * (last - T) + burst - held over the old
//     limits, with what their bursts were lowered by meanwhile, and of the tokens that the last
//     restart has not granted yet. They are due one after another at the slowest new rate, and no
//     limit holds anything at the end.
// docs/algorithms-limit-sets.md proves that each keeps the bound of every limit. A pause freezes the
// schedule at an instant: its distances stay, and nothing more of it is due.
//
// A reset forgets what is promised: no limit counts it, and nobody queues behind it. The schedule
// keeps its instants, so a pause stops it. A restart counts only what was promised since: forgotten
// promises are due at once, or, while a limit is paused, withheld until the pause ends.

/** A bit beside `lowered`; the sign says whether the schedule is frozen. */
const WITHHELD: i32 = 1 << 30;
const MOST_LOWERED: i32 = WITHHELD - 1;

// A schedule, as read from a slot.
let atUs: f64 = 0;
let virtualAt: f64 = 0;
let slope: f64 = 1;
let upTo: i64 = 0;
let anchor: i32 = 0;
let frozen: bool = false;
/** Whether what the anchor found due, perhaps forgotten promises, waits for the end of a pause. */
let withheld: bool = false;
/** Whole tokens by which bursts were lowered since one of the pending promises may have been made. */
let lowered: i32 = 0;
/** The virtual instant of the last forgotten promise; -Infinity if none is. */
let forgotten: f64 = -Infinity;

function read(slot: usize): void {
  const at = scheduleAt(slot);
  atUs = peekF64(at + SCHEDULE_atUs);
  virtualAt = peekF64(at + SCHEDULE_virtualAt);
  slope = peekF64(at + SCHEDULE_slope);
  upTo = peek64(at + SCHEDULE_upTo);
  anchor = load32(at + SCHEDULE_anchor);
  const rest = load32(at + SCHEDULE_lowered);
  frozen = rest < 0;
  withheld = (rest & WITHHELD) != 0;
  lowered = rest & MOST_LOWERED;
  forgotten = peekF64(at + SCHEDULE_forgotten);
}

/** Starts a schedule at an instant, if the slot has none, in which virtual instants are real. */
function readOrStart(slot: usize, nowUs: f64): void {
  if (hasSchedule(slot)) return read(slot);
  atUs = nowUs;
  virtualAt = nowUs;
  slope = 1;
  upTo = 0;
  anchor = 0;
  frozen = false;
  withheld = false;
  lowered = 0;
  forgotten = -Infinity;
}

/**
 * Sets an anchor, from which the last promise so far has the virtual instant 0. Precondition: the
 * schedule was moved to the instant of the anchor.
 */
function begin(slot: usize, pending: f64, next: f64): void {
  withheld = withheld || (frozen && forgotten > virtualAt);
  virtualAt = -pending;
  slope = next;
  upTo = indexOf(slot);
  anchor = known;
  lowered = 0;
  forgotten = -Infinity;
}

function write(): void {
  const flags = (frozen ? i32.MIN_VALUE : 0) | (withheld ? WITHHELD : 0);
  writeSchedule(atUs, virtualAt, slope, upTo, anchor, lowered | flags, forgotten);
}

function virtualOf(us: f64): f64 {
  return virtualAt + (us - atUs) / slope;
}

/** Lets the schedule go on from an instant, at which the limits of the slot are in force. */
function moveTo(us: f64): void {
  if (!frozen) virtualAt = virtualOf(us);
  atUs = us;
  frozen = isPaused;
  withheld = withheld && isPaused;
}

/** The instant at which a slot's contents stand still, or `nowUs` if they do not. */
export function presentOf(slot: usize, nowUs: f64): f64 {
  return isFrozen(slot) ? peekF64(scheduleAt(slot) + SCHEDULE_atUs) : nowUs;
}

/** Whether a pause has stopped tokens that are promised and not forgotten. */
export function isFrozen(slot: usize): bool {
  const isStopped = hasSchedule(slot) && load32(scheduleAt(slot) + SCHEDULE_lowered) < 0;
  return isStopped && lastUsOf(slot) != -Infinity;
}

/** Whether tokens are promised for later than an instant, and not forgotten. */
export function isPending(slot: usize, us: f64): bool {
  return lastUsOf(slot) > us || isFrozen(slot);
}

// The last promise: its virtual instant, and the anchor of its schedule.
export let promisedAt: f64 = 0;
export let promisedAnchor: i32 = 0;

/**
 * Notes the promise of an instant in the schedule of a slot, and writes the schedule into the spare
 * slot. The first promise of a pause freezes it at `nowUs`. Returns whether there is a schedule.
 */
export function promise(slot: usize, us: f64, nowUs: f64): bool {
  const freezes = isPaused && !isFrozen(slot);
  promisedAt = us;
  promisedAnchor = 0;
  if (!freezes && !hasSchedule(slot)) return false;
  readOrStart(slot, nowUs);
  if (!isPending(slot, nowUs)) lowered = 0;
  if (freezes) moveTo(nowUs);
  promisedAt = virtualOf(us);
  promisedAnchor = anchor;
  write();
  return true;
}

/** Whether the promise that {@link dueIn} found was due when its schedule began. */
export let isPast: bool = false;

/** When a promise is due by the schedule of a slot; Infinity while it is frozen. */
export function dueIn(slot: usize, index: i64, virtual: f64, itsAnchor: i32): f64 {
  isPast = false;
  if (!hasSchedule(slot)) return virtual;
  read(slot);
  return dueAt(itsAnchor == anchor ? virtual : tokensBefore(index));
}

function dueAt(virtual: f64): f64 {
  isPast = !(virtual > virtualAt || withheld);
  if (isPast) return atUs;
  return frozen ? Infinity : atUs + (virtual - virtualAt) * slope;
}

/** The distance of a token index from that of the restart. */
function tokensBefore(index: i64): f64 {
  return ((index - upTo) as f64) / INDEX_UNITS;
}

/**
 * Moves all promises up by as much as `tokens` take at the fastest rate, and writes the schedule
 * into the spare slot. Returns the distance in microseconds.
 */
export function bringForward(slot: usize, nowUs: f64, tokens: f64): f64 {
  let fastest: f64 = 0;
  for (let i = 0; i < count; i++) fastest = max(fastest, flowOf(limitIn(live, i)));
  const shift = min(lastUsOf(slot) - nowUs, (tokens * 1e6) / fastest);
  readOrStart(slot, nowUs);
  virtualAt += shift / slope;
  write();
  return shift;
}

/** Forgets all promises, and writes the schedule, which keeps them, into the spare slot. */
export function forget(slot: usize, nowUs: f64): void {
  readOrStart(slot, nowUs);
  forgotten = max(forgotten, virtualOf(lastUsOf(slot)));
  write();
}

/** When the last forgotten promise is due: -Infinity if that is past, Infinity during a pause. */
export function forgottenUs(slot: usize): f64 {
  if (!hasSchedule(slot)) return -Infinity;
  read(slot);
  const due = dueAt(forgotten);
  return isPast ? -Infinity : due;
}

// A change of the limits.

/** Beyond this, virtual instants are coarser than a microsecond, so that a change restarts. */
const COARSEST: f64 = 4503599627370496;

/** A distance in ticks that no division may exceed. */
const MOST: i64 = 2 * MAX_SPAN_TICKS;

/** The ticks held under an old limit at its tick `now`, in ticks of a new one. */
function kept(zeroTime: i64, now: i64, old: usize, next: usize): i64 {
  // An unlimited bucket is always full.
  if (priceOf(old) == 0) return capOf(next);
  const held = min(capOf(old), now - zeroTime);
  return priceOf(old) == priceOf(next) ? held : scale(held, priceOf(next), priceOf(old), MOST);
}

/** The ticks that a bucket without promises keeps across a change at an instant. */
export function carried(zeroTime: i64, old: usize, us: f64, from: usize, to: usize): i64 {
  const now = tickAt(sinceRecord(old, us), speedOf(from));
  return min(capOf(to), kept(zeroTime, now, from, to));
}

/**
 * Writes into the spare slot the contents of another one under the limits in force. Its own limits
 * are those of the record before.
 */
export function convert(slot: usize): void {
  const old = recordOf(limitsOf(slot));
  // Not before the latest charge: a higher rate would refill a bucket from before it was empty, and
  // a lower one would make a debt of what has arrived since.
  const changedUs = max(sinceOf(live), chargedUsOf(slot));
  const isScheduled = hasSchedule(slot);
  writeCharge(indexOf(slot), changedUs);
  if (isPending(slot, changedUs)) {
    readOrStart(slot, changedUs);
    reschedule(slot, old, changedUs);
    signSpare(known, true);
    return;
  }
  writeLast(-Infinity);
  for (let i = 0; i < count; i++) {
    const from = limitIn(old, i);
    const to = limitIn(live, i);
    const zeroTime = peek64(zeroTimeAt(slot, i));
    const held = carried(zeroTime, old, changedUs, from, to);
    writeI64(zeroTimeAt(spareAt, i), tickOf(to, changedUs) - held);
  }
  if (isScheduled) {
    read(slot);
    moveTo(changedUs);
    // No bound depends on forgotten promises. The largest old rate / new rate would multiply without
    // end if limits took turns in being the slowest.
    const stretch = slowestOf(old) / slowestOf(live);
    // If all promises were due, a new anchor keeps slopes from multiplying.
    if (forgotten > virtualAt && stretch > 0 && !isCoarse(stretch)) slope *= stretch;
    else begin(slot, 0, 1);
    write();
  }
  signSpare(known, isScheduled);
}

/** The tick of a limit in force at an instant. */
function tickOf(limit: usize, us: f64): i64 {
  return tickAt(sinceRecord(live, us), speedOf(limit));
}

/** What an old limit holds at the last promised instant, in its ticks. */
function heldAtLast(slot: usize, i: i32, old: usize, presentUs: f64, left: f64): i64 {
  const from = limitIn(old, i);
  const now = tickAt(sinceRecord(old, presentUs), speedOf(from));
  const last = now + ticksIn(left, pace(priceOf(from), flowOf(from)));
  return min(capOf(from), last - peek64(zeroTimeAt(slot, i)));
}

/** The largest old rate / new rate: 0 if all limits become unlimited, Infinity if one was. */
function stretchFrom(old: usize): f64 {
  let stretch: f64 = 0;
  for (let i = 0; i < count; i++) {
    const from = limitIn(old, i);
    const to = limitIn(live, i);
    if (priceOf(from) != 0) stretch = max(stretch, flowOf(from) / flowOf(to));
    else if (priceOf(to) != 0) return Infinity;
  }
  return stretch;
}

function slowestOf(record: usize): f64 {
  let slowest: f64 = Infinity;
  for (let i = 0; i < count; i++) slowest = min(slowest, flowOf(limitIn(record, i)));
  return slowest;
}

function isCoarse(stretch: f64): bool {
  return !(abs(virtualAt) * slope * stretch <= COARSEST);
}

/** Takes the earlier of the two schedules. Precondition: the slot's own was read. */
function reschedule(slot: usize, old: usize, changedUs: f64): void {
  const presentUs = frozen ? atUs : changedUs;
  const left = max<f64>(lastUsOf(slot) - presentUs, 0);
  const stretch = stretchFrom(old);
  let pending: f64 = Infinity;
  let lower: f64 = 0;
  for (let i = 0; i < count; i++) {
    const from = limitIn(old, i);
    const to = limitIn(live, i);
    if (priceOf(from) == 0) continue;
    const held = (heldAtLast(slot, i, old, presentUs, left) as f64) / (priceOf(from) as f64);
    pending = min(pending, (flowOf(from) * left) / 1e6 + burstOf(from) - held);
    if (priceOf(to) != 0) lower = max(lower, burstOf(from) - burstOf(to));
  }
  // A clock set back may find promises of an unlimited set: all are due.
  pending = pending == Infinity ? 0 : pending + (lowered as f64);
  moveTo(changedUs);
  // At most the tokens that the last restart has not granted yet, if it has not granted all.
  if (anchor != 0 && virtualAt < 0) pending = min(pending, tokensBefore(indexOf(slot)) - virtualAt);
  const perToken = 1e6 / slowestOf(live);
  const restarts = isCoarse(stretch) || !(left * stretch <= pending * perToken);
  const span = restarts ? pending * perToken : left * stretch;
  // What is not counted is taken from the limits.
  const counted = min<f64>(ceil(lower), (MOST_LOWERED - lowered) as f64);
  lowered += counted as i32;
  for (let i = 0; i < count; i++) {
    const held = heldAtLast(slot, i, old, presentUs, left);
    const to = limitIn(live, i);
    const zeroTime = movedTo(held, limitIn(old, i), to, span, restarts, counted);
    writeI64(zeroTimeAt(spareAt, i), tickOf(to, changedUs) + zeroTime);
  }
  if (restarts) begin(slot, pending, perToken);
  else if (stretch > 0) slope *= stretch;
  else virtualAt = max(virtualAt + left / slope, forgotten); // without limits, all are due
  writeLast(changedUs + span);
  write();
}

/**
 * The zero-time under a new limit, from the change, that holds the same tokens at the end of the new
 * schedule.
 */
function movedTo(held: i64, from: usize, to: usize, span: f64, restarts: bool, counted: f64): i64 {
  const end = ticksIn(span, pace(priceOf(to), flowOf(to)));
  if (priceOf(from) == 0 || priceOf(to) == 0) return end;
  const same = priceOf(from) == priceOf(to) ? held : scale(held, priceOf(to), priceOf(from), MOST);
  if (restarts) return end - min<i64>(same, 0);
  const lost = ticksUp(max<f64>(burstOf(from) - burstOf(to) - counted, 0), priceOf(to) as f64);
  return end - min(capOf(to), same - lost);
}

/**
 * Brings an entry up to the limits in force, from those of its slot: 0, AGAIN or a failure. These
 * are the limits in force or the ones before.
 */
export function bringUp(entry: usize, state: i64, slot: i32, limits: i32): f64 {
  return limits == known ? 0 : change(entry, state, slot);
}

function change(entry: usize, state: i64, slot: i32): f64 {
  if (isInForce()) {
    convert(slotAt(slot));
    replace(entry, state);
  }
  return AGAIN;
}
