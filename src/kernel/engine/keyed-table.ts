import { load64, readI64 } from './accesses';
import {
  AT_FIRST_HOME,
  ENTRY_identity,
  ENTRY_state,
  ENTRY_step,
  KEYED_table,
  LIVE,
  OWNERS,
  PROBES,
  TAG_MASK,
  VERSION_BITS,
} from './constants';

// Finds a key's entry. Entries are named by their address. How an entry becomes a key's is in
// keyed-claim.ts; docs/algorithms-keyed.md proves both.

export const IDENTITY: usize = ENTRY_identity * 8;
export const STATE: usize = ENTRY_state * 8;
const ENTRY_BYTES: usize = ENTRY_step * 8;

/** No address of an entry. */
export const NONE: usize = 0;

const VERSION_MASK: i64 = (1 << VERSION_BITS) - 1;

// The table.
let start: usize = 0;
let end: usize = 0;
let perHash: f64 = 0;
/** The probe after which the window goes on at the second home; a small table is one window. */
let lastAtHome: i32 = 0;
/** The most entries that a call may look at. */
export let reach: i32 = 0;

// The key.
/** The first entry of its window. */
export let home: usize = 0;
let secondHome: usize = 0;
/** Its identity, but for the version. */
let fingerprint: i64 = 0;

/** How many entries of the window this call has looked at. */
export let probes: i32 = 0;

export function openTable(cell: usize, entries: i32): void {
  start = cell + KEYED_table;
  end = start + (entries as usize) * ENTRY_BYTES;
  perHash = (entries as f64) / 4294967296;
  reach = min(PROBES, entries);
  lastAtHome = entries > PROBES ? AT_FIRST_HOME : PROBES;
}

/** Turns to the key of this hash. */
export function seek(high: u32, low: u32): void {
  home = start + (((low as f64) * perHash) as usize) * ENTRY_BYTES;
  secondHome = start + (((high as f64) * perHash) as usize) * ENTRY_BYTES;
  fingerprint = ((high as i64) << 32) | ((low << VERSION_BITS) as i64);
}

/** The entry of the window after this one, which is its `probe`-th. The halves may overlap. */
export function after(entry: usize, probe: i32): usize {
  if (probe == lastAtHome) return secondHome;
  const next = entry + ENTRY_BYTES;
  return next == end ? start : next;
}

/** Whether the window came by its `probe`-th entry before: its halves may overlap. */
export function isRepeated(entry: usize, probe: i32): bool {
  if (probe <= lastAtHome) return false;
  const ahead = entry < home ? entry + (end - start) - home : entry - home;
  return ahead < (AT_FIRST_HOME as usize) * ENTRY_BYTES;
}

/** Starts a call. */
export function forgetProbes(): void {
  probes = 0;
}

/** Notes that so many entries of the window were looked at. */
export function saw(probe: i32): void {
  if (probe > probes) probes = probe;
}

export function tagOf(state: i64): i32 {
  return (state as i32) & TAG_MASK;
}

export function isLive(state: i64): bool {
  return ((state as i32) & LIVE) != 0;
}

/** The tag of the states of the owner that has this identity. */
export function tagOfOwner(identity: i64): i32 {
  return (((identity as i32) << 1) & TAG_MASK) | LIVE;
}

/** The key's live entry, or NONE. It may overlook one that is being written; a claim will not. */
export function find(): usize {
  let entry = home;
  for (let probe = 1; probe <= reach; probe++) {
    // Plain loads are enough to pass the entries of other keys.
    const identity = readI64(entry + IDENTITY);
    if ((identity & ~VERSION_MASK) == fingerprint) {
      if (isLive(load64(entry + STATE))) {
        saw(probe);
        return entry;
      }
    } else if (identity == 0 && load64(entry + STATE) == 0) {
      // Entries are given out in the order of the probe, so the key's can't be further on.
      saw(probe);
      return NONE;
    }
    entry = after(entry, probe);
  }
  saw(reach);
  return NONE;
}

/** An entry's identity, which is another for every owner; 0 if the entry is not this key's. */
export function identityOf(entry: usize): i64 {
  const identity = load64(entry + IDENTITY);
  return (identity & ~VERSION_MASK) == fingerprint ? identity : 0;
}

/** Whether an entry still has the owner of this identity, of whatever key. */
export function isOwned(entry: usize, identity: i64): bool {
  return load64(entry + IDENTITY) == identity;
}

/** Whether an entry may be the key's, or was never used; both show in its identity. */
export function isOfInterest(entry: usize): bool {
  const identity = load64(entry + IDENTITY);
  return identity == 0 || (identity & ~VERSION_MASK) == fingerprint;
}

/**
 * What the key's next identity in place of `identity` is. Its version is never 0, so neither is it;
 * the end of the version goes on counting.
 */
export function identityAfter(identity: i64): i64 {
  const version = (identity + 1) & VERSION_MASK;
  return fingerprint | (version == 0 ? OWNERS : version);
}

/** Whether the key would find a place; a bucket whose state is at most `floor` is full. */
export function hasRoom(floor: i64): bool {
  let entry = home;
  for (let probe = 1; probe <= reach; probe++) {
    const state = load64(entry + STATE);
    if (!isLive(state) || state <= floor) return true;
    entry = after(entry, probe);
  }
  return false;
}

/** Buckets that are not full. */
export function countAbove(floor: i64): i32 {
  let count = 0;
  for (let entry = start; entry < end; entry += ENTRY_BYTES) {
    const state = load64(entry + STATE);
    if (state > floor && isLive(state)) count++;
  }
  return count;
}
