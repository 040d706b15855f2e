// Plain constants of a table of buckets: the compiled kernel is built with them too.

/** A key's entry is one of so many: no call looks at more. */
export const WINDOW = 64;
/** So many of them lie at the key's first home, the others at its second. */
export const AT_FIRST_HOME = WINDOW / 2;

// Instead of an entry or a wait; the kernel's LATER and NEVER are -1 and -2.
/** The key has no entry, or nothing is free in its window. */
export const NO_PLACE = -3;
/** Another thread was faster: look again. */
export const BEATEN = -4;

/** The low bits of a state word. A state of 0 says that the entry was never used. */
export const TAG_BITS = 3;
export const TAG_MASK = 2 ** TAG_BITS - 1;
/**
 * The bit that says that the entry is its key's. The rest of the tag is the end of its identity's
 * version, so that an exchange that expects one owner's state fails on the next owner's; the other
 * bits are the bucket's zero-time.
 */
export const LIVE = 1;
/** Owners whose states can be told from each other. */
export const OWNERS = 2 ** (TAG_BITS - 1);
/** A thread is about to give the entry to a key; the other bits are its ticket. */
export const TRANSIT = 2;
/** As in transit, and the identity is the key's: any thread may finish what that one began. */
export const NAMED = 6;
/** The whole state of an entry that is nobody's, though its identity may still name a key. */
export const FREE = 4n;

export function tagOf(state: bigint): number {
  return Number(BigInt.asUintN(TAG_BITS, state));
}

export function isLive(state: bigint): boolean {
  return (tagOf(state) & LIVE) !== 0;
}

/** Whether an entry is in transit, named or not. */
export function isHeld(state: bigint): boolean {
  return tagOf(state) === TRANSIT || tagOf(state) === NAMED;
}

/** The state of an owner of this version, with the zero-time of another state. */
export function stateOfOwner(version: number, state: bigint): bigint {
  const tag = ((version << 1) & TAG_MASK) | LIVE;
  return (state | BigInt(TAG_MASK)) - BigInt(TAG_MASK ^ tag);
}

/** The low half of an identity word: 12 bits of the fingerprint, then the version. */
export const VERSION_BITS = 20;
export const VERSION_MASK = 2 ** VERSION_BITS - 1;

/** What a call charged, if no entry: the bucket that keys without a place share; nothing. */
export const SHARED = -1;
export const NOWHERE = -2;

/** Each thread takes tickets in blocks of so many, so that the counter is rarely written. */
export const BLOCK_BITS = 20;
/**
 * How often a call for which only an entry in transit is left looks again before it takes that from
 * a thread that does not finish. Far longer than a claim takes, so that only threads that sleep or
 * were terminated lose theirs.
 */
export const PATIENCE = 200;

/** A state word counts ticks up to about here: 8.9 years. The clock stands still there. */
export const LAST_TICKS = 2 ** 60 - 2 ** 8;
export const FIRST_TICKS = -(2 ** 59);
