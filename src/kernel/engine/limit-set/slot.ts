import { exchange64, load32, peek64, peekF64, readI64, writeF64, writeI64 } from '../accesses';
import { joined } from '../arithmetic';
import {
  CELL_nonce,
  LIVE,
  SCHEDULE_anchor,
  SCHEDULE_atUs,
  SCHEDULE_forgotten,
  SCHEDULE_slope,
  SCHEDULE_upTo,
  SCHEDULE_virtualAt,
  SET_SLOT_chargedUs,
  SET_SLOT_holding,
  SET_SLOT_index,
  SET_SLOT_lastUs,
  SET_SLOT_zeroTimes,
  SLOT_ATTEMPTS,
  SOLE_HOLDER,
  TAG_BITS,
} from '../constants';
import { indexOf as entryIndex, STATE } from '../keyed/table';

/** The holder in slots: the process's entry in a region of several processes. */
export let holder: i32 = SOLE_HOLDER;

export function holdAs(process: i32): void {
  holder = process;
}

// The slots of a set. An entry's state names the slot with its zero-times. A call writes the new
// ones into a spare slot, and then exchanges the state.
//
// Invariant: a slot is named by one entry, is in one place of the free list, or belongs to one
// thread, which alone writes it. An exchange gives the spare slot to the entry, and the entry's
// previous slot to the thread.
//
// The previous slot still names its earlier holder. The thread has the slot once it has exchanged
// the holding for its own, unless that names its own process already: recovery takes unnamed slots
// of ended threads and processes by the same exchange. A holding counts the holders, so none recurs.

/** A value of `place`: this thread has no spare slot. */
const NOWHERE: i32 = -1;

const HOLDER_SHIFT: i64 = 32;
const HOLDER_MASK: i64 = 0xff;
const COUNT_SHIFT: i64 = 40;
/** The low half: the limits of the zero-times; in a place, the number of a slot plus 1. */
const LOW_MASK: i64 = 0xffffffff;
/** In the low half of a holding: the slot has a schedule. */
const SCHEDULED: i32 = 1 << 31;

let freeAt: usize = 0;
let slotsAt: usize = 0;
let slots: i32 = 0;
let places: i32 = 0;
let slotBytes: usize = 0;
/** From the beginning of a slot to its schedule. */
let toSchedule: usize = 0;

/** The cell in which this thread has or had a spare slot, and that cell's nonce. */
let cell: usize = 0;
let nonce: i32 = 0;
/** The place from which this thread took its slot. */
let place: i32 = NOWHERE;
/** Where to look first for a slot. */
let next: i32 = 0;
export let spare: i32 = 0;
export let spareAt: usize = 0;
let spareHolding: i64 = 0;

/** `total`: the number of slots of `bytes` each, for `limits` limits. */
export function openSlots(
  table: usize,
  list: usize,
  length: i32,
  first: usize,
  total: i32,
  bytes: usize,
  limits: i32,
): void {
  leave();
  cell = table;
  nonce = load32(table + CELL_nonce);
  freeAt = list;
  places = length;
  slotsAt = first;
  slots = total;
  slotBytes = bytes;
  toSchedule = SET_SLOT_zeroTimes + ((limits as usize) << 3);
  next = 0;
}

/** Whether a slot exists, because damaged memory may name another. */
export function isSlot(slot: i32): bool {
  return (slot as u32) < (slots as u32);
}

export function slotAt(slot: i32): usize {
  return slotsAt + (slot as usize) * slotBytes;
}

export function zeroTimeAt(slot: usize, limit: i32): usize {
  return slot + SET_SLOT_zeroTimes + (limit << 3);
}

/** The latest instant for which tokens are promised or were granted after a wait. */
export function lastUsOf(slot: usize): f64 {
  return peekF64(slot + SET_SLOT_lastUs);
}

/** The number of tokens taken so far, in units of the token index. It wraps. */
export function indexOf(slot: usize): i64 {
  return peek64(slot + SET_SLOT_index);
}

/** The latest instant of a call that took tokens, or at which the slot's limits came into force. */
export function chargedUsOf(slot: usize): f64 {
  return peekF64(slot + SET_SLOT_chargedUs);
}

/**
 * The holding of a slot. It does not change before an exchange takes the slot from its entry or
 * place.
 */
export function holdingOf(slot: usize): i64 {
  return peek64(slot + SET_SLOT_holding);
}

/** The word that names the limits of the zero-times in a slot with a holding. */
export function limitsIn(holding: i64): i32 {
  return (holding as i32) & ~SCHEDULED;
}

export function limitsOf(slot: usize): i32 {
  return limitsIn(holdingOf(slot));
}

export function isScheduledIn(holding: i64): bool {
  return ((holding as i32) & SCHEDULED) != 0;
}

/** Address 0 is no slot, and has no schedule. */
export function hasSchedule(slot: usize): bool {
  return slot != 0 && isScheduledIn(holdingOf(slot));
}

export function scheduleAt(slot: usize): usize {
  return slot + toSchedule;
}

function heldAfter(holding: i64): i64 {
  const times = (holding >> COUNT_SHIFT) + 1;
  return (times << COUNT_SHIFT) | ((holder as i64) << HOLDER_SHIFT) | (holding & LOW_MASK);
}

/** Makes a slot just taken the spare one, unless recovery was faster. */
function hold(slot: i32, holding: i64): bool {
  const at = slotAt(slot);
  const isOwn = ((holding >> HOLDER_SHIFT) & HOLDER_MASK) == (holder as i64);
  const held = isOwn ? holding : heldAfter(holding);
  if (!isOwn && exchange64(at + SET_SLOT_holding, holding, held) != holding) return false;
  spare = slot;
  spareAt = at;
  spareHolding = held;
  return true;
}

/** The next value of a place, with a slot or without. It counts changes, so that none recurs. */
function placeAfter(before: i64, slot: i32): i64 {
  return ((before & ~LOW_MASK) + (LOW_MASK + 1)) | ((slot + 1) as i64);
}

/** Takes a slot from the free list, unless this thread has kept one; false if there is none. */
export function takeSpare(): bool {
  return isHeld() || findSpare();
}

function findSpare(): bool {
  for (let attempt = 0; attempt < SLOT_ATTEMPTS; attempt++) {
    for (let step = 0; step < places; step++) {
      const from = (next + step) & (places - 1);
      const at = freeAt + (from << 3);
      const filled = peek64(at);
      const slot = (filled as i32) - 1;
      if (!isSlot(slot)) continue;
      const holding = holdingOf(slotAt(slot));
      if (exchange64(at, filled, placeAfter(filled, NOWHERE)) != filled) continue;
      if (!hold(slot, holding)) continue;
      place = from;
      next = from;
      return true;
    }
  }
  return false;
}

/** After an exchange, makes the entry's previous slot, with its holding, the spare one. */
export function swapSpare(slot: i32, holding: i64): void {
  if (!hold(slot, holding)) place = NOWHERE;
}

/** Whether this thread has a spare slot: since an exchange, the entry's previous one. */
export function hasSpare(): bool {
  return place != NOWHERE;
}

/** Whether recovery has left this thread its spare slot. */
export function isHeld(): bool {
  return place != NOWHERE && holdingOf(spareAt) == spareHolding;
}

/** Writes into the spare slot the limits of its zero-times, and whether it has a schedule. */
export function signSpare(limits: i32, isScheduled: bool): void {
  const low = limits | (isScheduled ? SCHEDULED : 0);
  spareHolding = (spareHolding & ~LOW_MASK) | ((low as i64) & LOW_MASK);
  writeI64(spareAt + SET_SLOT_holding, spareHolding);
}

export function writeLast(us: f64): void {
  writeF64(spareAt + SET_SLOT_lastUs, us);
}

/** Writes the index of the last token, and the latest charge. */
export function writeCharge(index: i64, us: f64): void {
  writeI64(spareAt + SET_SLOT_index, index);
  writeF64(spareAt + SET_SLOT_chargedUs, us);
}

/** Copies the schedule of a slot to the spare one. */
export function copySchedule(slot: usize): void {
  const from = scheduleAt(slot);
  const to = scheduleAt(spareAt);
  writeI64(to + SCHEDULE_atUs, peek64(from + SCHEDULE_atUs));
  writeI64(to + SCHEDULE_virtualAt, peek64(from + SCHEDULE_virtualAt));
  writeI64(to + SCHEDULE_slope, peek64(from + SCHEDULE_slope));
  writeI64(to + SCHEDULE_upTo, peek64(from + SCHEDULE_upTo));
  writeI64(to + SCHEDULE_anchor, peek64(from + SCHEDULE_anchor));
  writeI64(to + SCHEDULE_forgotten, peek64(from + SCHEDULE_forgotten));
}

/** Writes the spare slot's schedule. */
export function writeSchedule(
  atUs: f64,
  virtualAt: f64,
  slope: f64,
  upTo: i64,
  anchor: i32,
  lowered: i32,
  forgotten: f64,
): void {
  const to = scheduleAt(spareAt);
  writeF64(to + SCHEDULE_atUs, atUs);
  writeF64(to + SCHEDULE_virtualAt, virtualAt);
  writeF64(to + SCHEDULE_slope, slope);
  writeI64(to + SCHEDULE_upTo, upTo);
  writeI64(to + SCHEDULE_anchor, joined(anchor, lowered));
  writeF64(to + SCHEDULE_forgotten, forgotten);
}

/** A zero-time of the spare slot. */
export function spareZeroTime(limit: i32): i64 {
  return readI64(zeroTimeAt(spareAt, limit));
}

/**
 * At the end of a call, keeps only a slot from a low place, so that idle threads hold few slots.
 */
function restSpare(): void {
  if (place >= places >> 2) freeSpare();
}

/** Ends a call with a result. */
export function end(result: f64): f64 {
  restSpare();
  return result;
}

function freeSpare(): void {
  for (let step = 0; step < places * SLOT_ATTEMPTS && place != NOWHERE; step++) {
    // Recovery may have filled its own place. While this thread has a slot, some place is empty.
    const at = freeAt + (((place + step) & (places - 1)) << 3);
    const empty = peek64(at);
    if ((empty as i32) != 0) continue;
    if (exchange64(at, empty, placeAfter(empty, spare)) == empty) place = NOWHERE;
  }
  place = NOWHERE;
}

/** Frees the spare slot, unless the memory belongs to another cell, or recovery took the slot. */
export function leave(): void {
  const isOurs = cell != 0 && place != NOWHERE && load32(cell + CELL_nonce) == nonce;
  if (isOurs && holdingOf(spareAt) == spareHolding) freeSpare();
  place = NOWHERE;
  cell = 0;
}

/** The cell to which the slots belong. */
export function isOpen(table: usize): bool {
  return cell == table;
}

// The state word of an entry whose key has several limits:
//
//     version │ slot │ tag: 3 bits
//
// The slot holds the zero-times of a live entry. An entry always names a slot, whatever its tag.
// Invariant: the version grows with every change except those of the tag only, so no state recurs.

/** The bits of a slot, and those below the version. */
let slotMask: i64 = 0;
let versionShift: i64 = 0;

export function openStates(slots: i32): void {
  const bits = (32 - clz(slots - 1)) as i64;
  slotMask = ((1 as i64) << bits) - 1;
  versionShift = bits + TAG_BITS;
}

/** The slot of an entry in a state. An unused entry has the slot of its own number. */
export function slotOf(entry: usize, state: i64): i32 {
  return state == 0 ? entryIndex(entry) : (((state >> TAG_BITS) & slotMask) as i32);
}

/** The next state after another. */
export function stateAfter(state: i64, slot: i32, tag: i64): i64 {
  const version = (state >> versionShift) + 1;
  return (version << versionShift) | ((slot as i64) << TAG_BITS) | tag;
}

/** The next live state after another, with the zero-times of a slot. */
export function liveAfter(state: i64, slot: i32): i64 {
  return stateAfter(state, slot, LIVE);
}

/** Gives the spare slot to an entry in a state, unless the state has changed. */
export function replace(entry: usize, state: i64): bool {
  const slot = slotOf(entry, state);
  const holding = holdingOf(slotAt(slot));
  if (exchange64(entry + STATE, state, liveAfter(state, spare)) != state) return false;
  swapSpare(slot, holding);
  return true;
}
