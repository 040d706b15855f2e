// Constants shared by the engine and its hosts; build/compile.mjs writes them for the engine. This
// file must not import anything.

// The binaries as text.

/**
 * The digits for the bytes from 0 to 87. Before a digit, the last two characters add 88 and 176 to
 * its byte. Frequent bytes have the characters that are frequent in JavaScript, because gzip encodes
 * the text and the code around it alike.
 */
export const TEXT_DIGITS =
  'tios,amwd0kr&:Ubcv}1+4OM_Eyg!/6Fe;{.=2Ih#<K?xzR[H5J~%@XqPG7^9QZLunf|$3SBATNV>Yplj*DW]-C8()';
export const TEXT_RADIX = 88;

// Buckets: the fixed-point time domain.

/** The target number of ticks per microsecond of a schedule. */
export const TICKS_PER_MICRO = 4096;
/** The longest time to fill a bucket: 2^59 ticks, 4.4 years. The word holds twice that, signed. */
export const MAX_SPAN_TICKS = 2 ** 59;
/** A record is renewed at this age in ticks (12 days), so that `now` stays exact. */
export const RENEW_TICKS = 2 ** 52;

/** The number of places over which the origins of records are spread. */
export const ORIGIN_PLACES = 1009;
/** The distance between two such places, in microseconds. */
export const ORIGIN_STEP_US = 991;
/** Origins of a quantum bucket lie on its grid of fills, at most this far back. */
export const MAX_ORIGIN_TICKS = 2 ** 40;

/** The relative rounding error below which intervals computed from ticks are equal. */
export const SAME_INTERVAL = 2 ** -40;
/** The only holder of slots in a private region. In a shared one, the process's entry holds. */
export const SOLE_HOLDER = 1;
/** The parts of a word of claims: a bit for each record, the takeovers, and the claims so far. */
export const CLAIM_BITS = 8;
export const TAKEOVER_MASK = 2 ** 28 - 1;
export const CLAIM_COUNT_SHIFT = 36;
/** After this many attempts to claim a record, the host waits for a claim to end. */
export const CLAIM_ATTEMPTS = 10_000;
/** In the engine, instead of a failure: the record to replace is no longer live. */
export const SUPERSEDED = -6;
/** After this many attempts, a return of tokens goes without a record of its own. */
export const RETURN_ATTEMPTS = 1000;

// Windows and logs.

/** Ticks per microsecond: a power of two, so that ticks are exact doubles for 17.8 years. */
export const WINDOW_TICKS_PER_MICRO = 16;
/**
 * Time is clamped to plus or minus this tick: 17.8 years, minus the most that rounding up to the
 * largest unit can add. Beyond it, the number of a window or slot would not fit into the word.
 */
export const LAST_TICK = 2 ** 53 - 2 ** 24;
/** Counts of up to this many bits leave enough of a word for 2^53 ticks. */
export const EXACT_COUNT_BITS = 7;
/** A number of tokens above every limit. */
export const ABOVE_ANY_LIMIT = 0x4000_0000;
/**
 * Windows of successive records start at different numbers, so that no word recurs while a thread
 * is stalled.
 */
export const START_PLACES = 1021;
/** The number of the first slot; 0 marks a place in the ring that was never written. */
export const FIRST_SLOT = 1;

/** The kinds of window and log in calls of the engine; `full` opens only when it is full. */
export const WINDOW_KIND = { fixed: 0, full: 1, sliding: 2, log: 3 } as const;
/** The engine's outcomes for windows and logs, other than a number of tokens. */
export const WINDOW_OUTCOME = {
  /** The word is newer than the clock reading: look at it, read the clock and call again. */
  again: -1,
  /** The kept slots must be added up first. */
  newSlot: -2,
  /** The word or the configuration is invalid. */
  damaged: -3,
  /** Another configuration record is live: read it and call again. */
  changed: -4,
  /** All configuration records are claimed. */
  busy: -5,
} as const;

/** Added to the number of tokens if they count in another window or slot than the last ones. */
export const WINDOW_MOVED = 0x4000_0000;

// Keyed tables.

/** The most entries that a call probes: a key's window. */
export const PROBES = 64;
/** How many of them are at the key's first home; the rest are at its second. */
export const AT_FIRST_HOME = PROBES / 2;

/** Instead of a wait: the key has no entry, and its window has no free one. */
export const NO_PLACE = -5;

/** The treatment of a key that finds no entry. */
export const WHEN_FULL = { share: 0, refuse: 1, admit: 2 } as const;
/** Keys without an entry share one bucket, or all their calls are refused or admitted. */
export type WhenFull = keyof typeof WHEN_FULL;

/** The number of low bits of a state word that hold its tag. State 0: the entry was never used. */
export const TAG_BITS = 3;
export const TAG_MASK = 2 ** TAG_BITS - 1;
/**
 * Set if the entry belongs to its key. The rest of the tag ends the identity's version, so that an
 * exchange for one owner's state fails on the next owner's. The other bits are the zero-time.
 */
export const LIVE = 1;
/** The number of successive owners whose states have different tags. */
export const OWNERS = 2 ** (TAG_BITS - 1);
/** A thread is giving the entry to a key; the other bits are its ticket. */
export const TRANSIT = 2;
/** In transit, and the identity is the key's: any thread may finish the claim. */
export const NAMED = 6;
/** The whole state of a free entry, though its identity may still name a key. */
export const FREE = 4n;

/** The low half of an identity word: 12 bits of the fingerprint, then the version. */
export const VERSION_BITS = 20;

/** Each thread takes tickets in blocks of 2^BLOCK_BITS, so that the counter is rarely written. */
export const BLOCK_BITS = 20;
/**
 * The number of looks at an entry in transit before a call with no other choice takes it over: far
 * longer than a claim, so that only sleeping or terminated threads lose their entries.
 */
export const RETRY_LIMIT = 200;

/** Passes over the free slots of a limit set before a call gives up: far longer than a call. */
export const SLOT_ATTEMPTS = 25_000;

/**
 * A live state has the limit under which its zero-time counts: the tier, and whether its record has
 * an odd version. The zero-time is above these bits and the tag.
 */
export const TIER_MASK = 15;
export const PARITY = 128;
export const MARK_MASK = 255;
export const ZERO_TIME_SHIFT = 8;

/** The target number of ticks per microsecond of a table's limit. */
export const TABLE_TICKS_PER_MICRO = 64;
/** 2^54: the longest debt, and the longest time to fill a bucket, 8.9 years at 64 ticks a us. */
export const TABLE_SPAN_TICKS = 0x40_0000_0000_0000;
/** The last tick that fits into a state word: 17.8 years after a change. Time is clamped to it. */
export const LAST_TICKS = 2 ** 55 - 2 ** 8;
export const FIRST_TICKS = -(2 ** 54);
/** The zero-time of a key that was never seen, in a table whose limits never changed. */
export const NEVER_SEEN = -(2 ** 55);

// Semaphores.

/** The most permits of a semaphore: 17 bits of its word hold them, signed. */
export const MAX_PERMITS = 65_535;
/** The states of a waiter. */
export const WAITER_STATE = { free: 0, asked: 1, held: 2, changing: 3 } as const;
/** How the last exchange of a semaphore's word changed the waiter that it names. */
export const WAITER_CHANGE = { joined: 0, granted: 1, returned: 2, changed: 3 } as const;
/** The answers of `semaphoreTake` and `semaphoreJoin` other than a waiter. */
export const NO_PERMIT = { refused: -1, behind: -2, noWaiter: -3 } as const;
/** Units of latencies in a microsecond. A longer call counts as one of the longest latency. */
export const LATENCY_PER_US = 4;
export const LONGEST_LATENCY = 0x4000_0000;
/** A call counts as at most this many times the least latency: one slow call moves little. */
export const LATENCY_CAP = 8;
/** The answers of `semaphoreServe` other than an owner to wake. */
export const SERVED = { nobody: -1, waiting: -2 } as const;
/** Units of a due instant in a millisecond. */
export const DUE_PER_MS = 16;

// Rates of arrivals.

/** Instants of counts are in units of the time constant divided by this. */
export const ARRIVAL_UNITS = 256;
/** The part of a count that remains after one such unit. */
export const ARRIVAL_DECAY = Math.exp(-1 / ARRIVAL_UNITS);
/** After 64 time constants, nothing remains. */
export const ARRIVAL_FORGOTTEN = 64 * ARRIVAL_UNITS;
/** The bits of the word for the count, in units of an arrival divided by {@link ARRIVAL_PARTS}. */
export const ARRIVAL_COUNT_BITS = 24;
export const ARRIVAL_PARTS = 2 ** 16;
/** The bits of the count's first digits; the other bits are the exponent. */
export const ARRIVAL_DIGIT_BITS = 18;
/** The largest count, and the exponent of its digits. */
export const MAX_ARRIVALS = 2 ** 42;
export const MAX_ARRIVALS_EXPONENT = 42;
/** The latest instant that fits beside the count: 136 years for a time constant of one second. */
export const LAST_ARRIVAL = 2 ** 40 - 1;
