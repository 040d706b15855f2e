import { round, ticksUp } from './arithmetic';
import { exchange64, load64 } from './atomics';
import {
  FIRST_TICKS,
  LAST_TICKS,
  LATER,
  MAX_SPAN_TICKS,
  NEVER,
  NO_PLACE,
  NOWHERE,
  TAG_BITS,
  TAG_MASK,
} from './constants';
import {
  BEATEN,
  beginClaims,
  commit,
  forgotten,
  FULL,
  leave,
  lostRaces as lostClaims,
  openClaims,
  SENSELESS,
  take as takeEntry,
  taken,
} from './keyed-claim';
import {
  find,
  forgetProbes,
  identityOf,
  isLive,
  NONE,
  openTable,
  probes,
  seek,
  STATE,
  tagOf,
  tagOfOwner,
} from './keyed-table';

// Charges the bucket of a key, or gives the key one, as keyed-loop.ts of the other kernel does. An
// instance serves one table of one thread.

/** Reads the clock, where a call's `now` turns out to be old. */
declare function readClock(): f64;

/** Instead of a wait: an entry makes no sense. */
const DAMAGED: f64 = -5;
/** Among the waits: another thread was faster. */
const AGAIN: f64 = -6;

// The limit never changes.
let originUs: f64 = 0;
let ticksPerToken: f64 = 0;
let ticksPerMicro: f64 = 0;
let capTicks: i64 = 0;

// What a call leaves.
let lastEntry: i32 = NOWHERE;
let lastIdentity: i64 = 0;
let lastWord: i64 = 0;
let lastTicks: f64 = 0;
let lostRaces: i32 = 0;

// The instant of the call, which may be later than the caller's.
let instantUs: f64 = 0;
let nowTicks: i64 = 0;

/** No state of a bucket. */
const ANY: i64 = 0;
const NEVER_SEEN: i64 = 0;
/** The state from which to take, or ANY. */
let only: i64 = ANY;
/** The state that a refusal stands on. */
let lastSeen: i64 = NEVER_SEEN;

/** What is asked for. */
let cost: i64 = 0;

export function open(
  cell: usize,
  entries: i32,
  origin: f64,
  perToken: f64,
  perMicro: f64,
  cap: i64,
  looks: i32,
): void {
  openTable(cell, entries);
  openClaims(cell, looks);
  originUs = origin;
  ticksPerToken = perToken;
  ticksPerMicro = perMicro;
  capTicks = cap;
}

/** Index of an Int64 in the region, or what stands instead of an entry. */
export function entryThen(): i32 {
  return lastEntry;
}

/** The low half of the identity of that entry. */
export function versionThen(): i32 {
  return lastIdentity as i32;
}

export function wordThen(): i64 {
  return lastWord;
}

export function ticksThen(): f64 {
  return lastTicks;
}

/** The state that a refusal stands on; 0 if it stands on no entry's. */
export function seenThen(): i64 {
  return lastSeen;
}

export function racesLost(): i32 {
  return lostRaces + lostClaims;
}

export function probesThen(): i32 {
  return probes;
}

/**
 * Past 2^53 ticks, 25 days, the product is rounded to a double. It stays monotone, and off by no
 * more than the rounding that a clock's own microseconds have at that age.
 */
function setClock(nowUs: f64): void {
  instantUs = nowUs;
  const ticks = round((nowUs - originUs) * ticksPerMicro);
  nowTicks = min(max(ticks, FIRST_TICKS as f64), LAST_TICKS as f64) as i64;
}

function stateOf(zeroTime: i64, tag: i32): i64 {
  return (zeroTime << TAG_BITS) | (tag as i64);
}

/** The highest state of a bucket that is just full, whoever owns it. */
function floorState(): i64 {
  return stateOf(nowTicks - capTicks, TAG_MASK);
}

/** From now to a zero-time; negative for one that has passed. */
function ticksUntil(state: i64): f64 {
  return ((state >> TAG_BITS) - nowTicks) as f64;
}

/**
 * Takes tokens of the key of this hash: microseconds to wait, LATER, NEVER, NO_PLACE or DAMAGED.
 * `begins` is 0 where it goes on with a call that has taken none so far.
 */
export function take(
  high: u32,
  low: u32,
  nowUs: f64,
  tokens: f64,
  maxWaitUs: f64,
  begins: i32,
): f64 {
  seek(high, low);
  if (begins) {
    beginClaims();
    setClock(nowUs);
    lostRaces = 0;
    forgetProbes();
  }
  lastEntry = NOWHERE;
  lastSeen = NEVER_SEEN;
  cost = ticksUp(tokens, ticksPerToken);
  if (cost == 0) return 0;
  if (cost > capTicks) return NEVER;
  const span = min(MAX_SPAN_TICKS, LAST_TICKS - nowTicks) as f64;
  const maxWait = maxWaitUs == 0 ? 0 : min(round(maxWaitUs * ticksPerMicro), span);
  while (true) {
    const entry = find();
    const wait = entry == NONE ? insert(maxWait) : charge(entry, maxWait);
    if (wait > 0) return wait / ticksPerMicro + (instantUs - nowUs);
    if (wait != AGAIN) return wait;
  }
}

/** Goes on with a call: takes only if an entry's state is still `from`; otherwise it refuses, too. */
export function takeFrom(
  from: i64,
  high: u32,
  low: u32,
  nowUs: f64,
  tokens: f64,
  maxWaitUs: f64,
): f64 {
  only = from;
  const wait = take(high, low, nowUs, tokens, maxWaitUs, 0);
  only = ANY;
  return wait;
}

function note(entry: usize, identity: i64, word: i64, due: f64): void {
  lastEntry = (entry >> 3) as i32;
  lastIdentity = identity;
  lastWord = word;
  lastTicks = 0 - due;
}

/** Charges the key's bucket: ticks to wait, LATER, AGAIN or DAMAGED. */
function charge(entry: usize, maxWait: f64): f64 {
  const identity = identityOf(entry);
  if (identity == 0) return AGAIN;
  const tag = tagOfOwner(identity);
  let state = load64(entry + STATE);
  while (true) {
    if (tagOf(state) != tag) {
      // While a live entry has one identity, its states are of that version.
      return isLive(state) && identityOf(entry) == identity ? DAMAGED : AGAIN;
    }
    const zeroTime = state >> TAG_BITS;
    const full = zeroTime < nowTicks - capTicks;
    // The zero-time, seen from now.
    const ahead = full ? -capTicks : zeroTime - nowTicks;
    const due = (ahead + cost) as f64;
    if (due > maxWait || (only != ANY && state != only)) {
      const again = load64(entry + STATE);
      if (again == state) {
        if (identityOf(entry) != identity) return AGAIN;
        lastSeen = state;
        lastTicks = 0 - (ahead as f64);
        return LATER;
      }
      state = again;
      continue;
    }
    const next = stateOf(nowTicks + ahead + cost, tag);
    const seen = exchange64(entry + STATE, state, next);
    if (seen == state) {
      if (identityOf(entry) != identity) {
        // Reclaimed meanwhile: this charged another key's bucket. If somebody has charged it since,
        // then that key has lost the tokens; none are admitted for them.
        exchange64(entry + STATE, next, state);
        lostRaces++;
        return AGAIN;
      }
      note(entry, identity, next, due);
      return max(due, 0);
    }
    lostRaces++;
    state = seen;
  }
}

/** Gives the key a bucket and charges it: ticks to wait, LATER, AGAIN, NO_PLACE or DAMAGED. */
function insert(maxWait: f64): f64 {
  const outcome = takeEntry(floorState());
  if (outcome == BEATEN) return AGAIN;
  // What left no place may be the key's own by now, from another thread.
  if (outcome == FULL) return find() == NONE ? NO_PLACE : AGAIN;
  if (outcome == SENSELESS) return DAMAGED;
  const entry = taken;
  const identity = identityOf(entry);
  const before = stateAtFirstSight();
  const state = stateOf((before >> TAG_BITS) + cost, tagOfOwner(identity));
  const due = ticksUntil(state);
  if (due > maxWait) {
    leave(entry);
    lastTicks = 0 - ticksUntil(before);
    return LATER;
  }
  if (!commit(entry, state)) return AGAIN;
  note(entry, identity, state, due);
  return max(due, 0);
}

/**
 * The bucket of a key that has none: full, unless the clock was set back since a bucket was
 * reclaimed. That bucket may have been this key's.
 */
function stateAtFirstSight(): i64 {
  const known = forgotten();
  const floor = floorState();
  if (known <= floor) return floor;
  // Another thread has read a later time than this call did: then it is later. Unless the clock was
  // set back; a call does not follow it.
  setClock(max(instantUs, readClock()));
  return max(known, floorState());
}
