import {
  add32,
  add64,
  exchange32,
  exchange64,
  load32,
  load64,
  readI32,
  readI64,
} from '../accesses';
import {
  ADAPT_dropped,
  ADAPT_droppedEver,
  ADAPT_further,
  ADAPT_head,
  ADAPT_mostInFlight,
  ADAPT_state,
  ADAPT_STATE_least,
  ADAPT_STATE_needed,
  ADAPT_STATE_span,
  ADAPT_total,
  CELL_word,
  LATENCY_CAP,
  SEMAPHORE_permits,
} from '../constants';
import { availableOf, permitsOf } from './waiter';

// The window of an adaptive semaphore: the calls that have ended since it opened, and the state of
// the rule that chooses the number of permits.
//
// Every step is one atomic access, so nothing waits for a thread that has ended. Exactly one thread
// closes a window, by the exchange of its head. It takes what was added, chooses the next number
// and writes the state, each field with its epoch. If it ends before that, the calls that it
// took are lost, or those that it did not take count in the next window.
//
// Invariant: a field never goes back to an earlier epoch. So a thread that was slow in closing
// a window changes nothing that a later one has written.

const EPOCH_SHIFT: i64 = 44;
const OPENED_MASK: i64 = ((1 as i64) << EPOCH_SHIFT) - 1;
const EPOCH_MASK: i32 = 0xfffff;
const COUNT_SHIFT: i64 = 44;
const SUM_MASK: i64 = ((1 as i64) << COUNT_SHIFT) - 1;
const VALUE_MASK: i64 = 0xffffffff;

// Results of the last close.
let epoch: i32 = 0;
let total: i64 = 0;
let dropped: i32 = 0;
let mostInFlight: i32 = 0;
let lastedUs: i64 = 0;
let further: i64 = 0;

function instantOf(us: f64): i64 {
  return (us as i64) & OPENED_MASK;
}

/** The value of a field of the state; `field` is its offset. */
export function adaptValue(at: usize, field: i32): i32 {
  return load64(at + ADAPT_state + field) as i32;
}

/** Writes a field, as part of the last close, unless a later one has written it. */
export function adaptPut(at: usize, field: i32, value: i32): void {
  const to = at + ADAPT_state + field;
  const next = ((epoch as i64) << 32) | ((value as i64) & VALUE_MASK);
  while (true) {
    const before = load64(to);
    // The sign of a difference of 20 bits.
    const ahead = (((before >> 32) as i32) - epoch) << 12;
    if (ahead > 0 || exchange64(to, before, next) == before) return;
  }
}

// Plain reads of recent values: in JavaScript, an atomic load takes ten times as long. They only
// decide whether to look again, or count in an average.

/** A recent value of a field. It lies in one half of its word, so it is never torn. */
function recentValue(at: usize, field: i32): i32 {
  return readI64(at + ADAPT_state + field) as i32;
}

/** For how long the window of a head has been open. */
function openFor(head: i64, us: f64): i64 {
  return (instantOf(us) - head) & OPENED_MASK;
}

/** Whether enough calls have ended, and enough time has passed, at `us` after the origin. */
function isDue(at: usize, head: i64, ended: i32, us: f64): bool {
  if (ended < adaptValue(at, ADAPT_STATE_needed)) return false;
  return openFor(head, us) >= (adaptValue(at, ADAPT_STATE_span) as i64);
}

/** Whether the window may be due. Most calls find out without an atomic load. */
function mayBeDue(at: usize, ended: i32, us: f64): bool {
  if (ended < recentValue(at, ADAPT_STATE_needed)) return false;
  return isDue(at, load64(at + ADAPT_head), ended, us);
}

/**
 * Notes the permits in use. A word read while its sign changes, in JavaScript, makes one call see
 * too many or none.
 */
function noteInFlight(cell: usize, at: usize): void {
  const permits = permitsOf(readI64(cell + SEMAPHORE_permits));
  const now = max(0, permits - availableOf(readI64(cell + CELL_word)));
  while (now > readI32(at + ADAPT_mostInFlight)) {
    const most = load32(at + ADAPT_mostInFlight);
    if (now <= most || exchange32(at + ADAPT_mostInFlight, most, now) == most) return;
  }
}

/**
 * Adds a call with `n` permits that ends at `us`, before they return. Returns whether the window is
 * due.
 */
export function adaptAdd(cell: usize, at: usize, latency: i32, n: i32, us: f64): bool {
  noteInFlight(cell, at);
  const least = recentValue(at, ADAPT_STATE_least);
  const longest = (least as i64) * LATENCY_CAP;
  const counted = least > 0 ? min(latency as i64, longest) : (latency as i64);
  if (n > 1) add64(at + ADAPT_further, counted * ((n - 1) as i64));
  const before = add64(at + ADAPT_total, ((1 as i64) << COUNT_SHIFT) | counted);
  const ended = countOf(before) + 1 + readI32(at + ADAPT_dropped);
  return mayBeDue(at, ended, us);
}

/** The same for a call that the server has dropped. Its latency says nothing. */
export function adaptDrop(cell: usize, at: usize, us: f64): bool {
  noteInFlight(cell, at);
  add64(at + ADAPT_droppedEver, 1);
  const ended = add32(at + ADAPT_dropped, 1) + 1 + countOf(load64(at + ADAPT_total));
  return mayBeDue(at, ended, us);
}

function countOf(sums: i64): i32 {
  return ((sums as u64) >> COUNT_SHIFT) as i32;
}

function take64(at: usize): i64 {
  while (true) {
    const before = load64(at);
    if (exchange64(at, before, 0) == before) return before;
  }
}

function take32(at: usize): i32 {
  while (true) {
    const before = load32(at);
    if (exchange32(at, before, 0) == before) return before;
  }
}

/**
 * Closes the window if it is due, and takes its calls; false if another thread closes it. A thread
 * that saw the calls which another was about to take finds none: it must not choose a number.
 */
export function adaptClose(at: usize, us: f64): bool {
  const head = load64(at + ADAPT_head);
  const ended = countOf(load64(at + ADAPT_total)) + load32(at + ADAPT_dropped);
  if (!isDue(at, head, ended, us)) return false;
  const next = (((head >> EPOCH_SHIFT) as i32) + 1) & EPOCH_MASK;
  const opened = ((next as i64) << EPOCH_SHIFT) | instantOf(us);
  if (exchange64(at + ADAPT_head, head, opened) != head) return false;
  epoch = next;
  total = take64(at + ADAPT_total);
  dropped = take32(at + ADAPT_dropped);
  mostInFlight = take32(at + ADAPT_mostInFlight);
  further = take64(at + ADAPT_further);
  lastedUs = openFor(head, us);
  return total != 0 || dropped != 0;
}

// What the last close took.

export function adaptCount(): i32 {
  return countOf(total);
}

export function adaptSum(): f64 {
  return (total & SUM_MASK) as f64;
}

export function adaptDropped(): i32 {
  return dropped;
}

export function adaptMostInFlight(): i32 {
  return mostInFlight;
}

/** The time for which calls held further permits. */
export function adaptFurther(): f64 {
  return further as f64;
}

/** How long the window was open, in microseconds. */
export function adaptLasted(): f64 {
  return lastedUs as f64;
}

/** All calls ever dropped. */
export function adaptDroppedEver(at: usize): f64 {
  return load64(at + ADAPT_droppedEver) as f64;
}
