// Plain constants of a table of buckets: the compiled kernel is built with them too.

/** The entries of a key's window: no call looks at more. */
export const PROBES = 64;
/** So many of them lie at the key's first home, the others at its second. */
export const AT_FIRST_HOME = PROBES / 2;

/** In place of a wait: the key has no entry, and nothing is free in its window. */
export const NO_PLACE = -5;

/** What happens to a key that finds no place. */
export const WHEN_FULL = { share: 0, refuse: 1, admit: 2 } as const;
/** A key that finds no place shares a bucket with all such keys, or its calls are refused, or admitted. */
export type WhenFull = keyof typeof WHEN_FULL;

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

/** The low half of an identity word: 12 bits of the fingerprint, then the version. */
export const VERSION_BITS = 20;
export const VERSION_MASK = 2 ** VERSION_BITS - 1;

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
