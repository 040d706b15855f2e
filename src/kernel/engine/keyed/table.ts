import { add64, load64, readI64 } from '../accesses';
import {
  AT_FIRST_HOME,
  ENTRY_identity,
  ENTRY_state,
  ENTRY_step,
  FREE,
  KEYED_shared,
  KEYED_table,
  LIVE,
  NAMED,
  OWNERS,
  PROBES,
  TAG_MASK,
  TRANSIT,
  VERSION_BITS,
} from '../constants';

// Finds a key's entry, and identifies it by address. keyed/claim.ts gives entries to keys;
// docs/algorithms-keyed.md proves both.

export const IDENTITY: usize = ENTRY_identity * 8;
export const STATE: usize = ENTRY_state * 8;
export const BYTES: usize = ENTRY_step * 8;

/** No entry has this address. */
export const NONE: usize = 0;

// Instead of a state from which alone to charge a key.
/** Any state, and a key without a bucket. No bucket has this state. */
export const ANY: i64 = FREE;
/** Only a key without a bucket. */
export const NO_BUCKET: i64 = 0;

const VERSION_MASK: i64 = (1 << VERSION_BITS) - 1;

// The table.
export let cell: usize = 0;
/** The first entry. */
export let start: usize = 0;
/**
 * The entry after the last: that of a set without keys, or of the keys without a place. It is always
 * live.
 */
export let shared: usize = NONE;
export let isKeyed: bool = false;
/** Whether this call uses the shared entry. */
let usesShared: bool = false;
let entryCount: u64 = 0;
/** The probe after which the window continues at the second home. A small table is one window. */
let lastAtHome: i32 = 0;
/** The most entries that a call may probe. */
export let reach: i32 = 0;

// The key.
/** The first entry of its window. */
export let home: usize = 0;
let secondHome: usize = 0;
/** The key's identity without the version. */
let fingerprint: i64 = 0;

/** The number of the window's entries that this call has probed. */
let probes: i32 = 0;

export function openTable(table: usize, entries: i32): void {
  cell = table;
  start = cell + KEYED_table;
  shared = start + (entries as usize) * BYTES;
  isKeyed = entries > 0;
  usesShared = !isKeyed;
  entryCount = entries as u64;
  reach = min(PROBES, entries);
  lastAtHome = entries > PROBES ? AT_FIRST_HOME : PROBES;
}

/** Counts a call whose key found no place. */
export function countPlaceless(): void {
  add64(cell + KEYED_shared, 1);
}

/** The number of calls whose key found no place. */
export function placeless(): f64 {
  return load64(cell + KEYED_shared) as f64;
}

/** The entry that is as far into the table as a half of a hash into its range. */
function entryOf(half: u32): usize {
  return start + ((((half as u64) * entryCount) >> 32) as usize) * BYTES;
}

/** Starts a call for the key with this hash. */
export function seek(high: u32, low: u32): void {
  probes = 0;
  usesShared = false;
  home = entryOf(low);
  secondHome = entryOf(high);
  fingerprint = ((high as i64) << 32) | ((low << VERSION_BITS) as i64);
}

/** Lets the rest of this call use the shared entry, because its key has no place. */
export function useShared(): void {
  usesShared = true;
}

/** The entry of this call: the key's, NONE if it has none, or the shared one. */
export function ownEntry(): usize {
  return usesShared ? shared : find();
}

/** The entry after the window's `probe`-th entry. The window's halves may overlap. */
export function after(entry: usize, probe: i32): usize {
  if (probe == lastAtHome) return secondHome;
  const next = entry + BYTES;
  return next == shared ? start : next;
}

/** Whether the window's `probe`-th entry is in its first half too: the halves may overlap. */
export function isRepeated(entry: usize, probe: i32): bool {
  if (probe <= lastAtHome) return false;
  const ahead = entry < home ? entry + (shared - start) - home : entry - home;
  return ahead < (AT_FIRST_HOME as usize) * BYTES;
}

/** The most entries that the last call probed. */
export function longestProbe(): i32 {
  return probes;
}

/** Notes that the window was probed up to its `probe`-th entry. */
export function saw(probe: i32): void {
  if (probe > probes) probes = probe;
}

export function tagOf(state: i64): i32 {
  return (state as i32) & TAG_MASK;
}

export function isLive(state: i64): bool {
  return ((state as i32) & LIVE) != 0;
}

/** Whether an entry is in transit, named or not. */
export function isHeld(state: i64): bool {
  return tagOf(state) == TRANSIT || tagOf(state) == NAMED;
}

/** The tag of all states of the owner with this identity. */
export function tagOfOwner(identity: i64): i32 {
  return (((identity as i32) << 1) & TAG_MASK) | LIVE;
}

/** The index of an entry in the table. */
export function indexOf(entry: usize): i32 {
  return ((entry - start) / BYTES) as i32;
}

/** The key's live entry, or NONE. May miss an entry that is being written; a claim does not. */
export function find(): usize {
  let entry = home;
  for (let probe = 1; probe <= reach; probe++) {
    // Plain loads suffice to skip the entries of other keys.
    const identity = readI64(entry + IDENTITY);
    if ((identity & ~VERSION_MASK) == fingerprint) {
      if (isLive(load64(entry + STATE))) {
        saw(probe);
        return entry;
      }
    } else if (identity == 0 && load64(entry + STATE) == 0) {
      // Entries are given out in probe order, so the key's entry cannot be further on.
      saw(probe);
      return NONE;
    }
    entry = after(entry, probe);
  }
  saw(reach);
  return NONE;
}

/** An entry's identity, different for each owner; 0 if the entry is not this key's. */
export function identityOf(entry: usize): i64 {
  const identity = load64(entry + IDENTITY);
  return (identity & ~VERSION_MASK) == fingerprint ? identity : 0;
}

/** How many publications an entry has had since the one of this identity, modulo their number. */
export function ownersSince(entry: usize, identity: i64): i64 {
  return (load64(entry + IDENTITY) - identity) & VERSION_MASK;
}

/** Whether an entry still has the owner with this identity, for any key. */
export function isOwned(entry: usize, identity: i64): bool {
  return load64(entry + IDENTITY) == identity;
}

/** Whether an entry may be the key's or was never used, according to its identity. */
export function isOfInterest(entry: usize): bool {
  const identity = load64(entry + IDENTITY);
  return identity == 0 || (identity & ~VERSION_MASK) == fingerprint;
}

/**
 * The next identity of the key after `identity`. Its version is never 0, so neither is the
 * identity; the low bits of the version keep counting when it wraps.
 */
export function identityAfter(identity: i64): i64 {
  const version = (identity + 1) & VERSION_MASK;
  return fingerprint | (version == 0 ? OWNERS : version);
}
