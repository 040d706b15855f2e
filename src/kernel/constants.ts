// Constants shared by the engine and its hosts; build/compile.mjs writes them for the engine. This
// file must not import anything.

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
/**
 * No holder, and the only holder in a private region. In a shared one, the process's entry holds.
 */
export const NO_HOLDER = 0;
export const SOLE_HOLDER = 1;
/** A claim takes microseconds. This many attempts outlast a preempted claimant. */
export const CLAIM_ATTEMPTS = 1_000_000;
/** After this many attempts, a return of tokens goes without a record of its own. */
export const RETURN_ATTEMPTS = 1000;

// Composite buckets.

/** A thread may keep slots below this number between its calls; the others are released. */
export const KEPT_SLOTS = 32;
/** Passes over all slots before a call gives up: far longer than a thread holds a slot. */
export const SLOT_ATTEMPTS = 100_000;

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
export const ABOVE_ANY_LIMIT = 2 ** 30;
/**
 * Windows of successive records start at different numbers, so that no word recurs while a thread
 * is stalled.
 */
export const START_PLACES = 1021;
/** The number of the first slot; 0 marks a place in the ring that was never written. */
export const FIRST_SLOT = 1;

/** The engine's outcomes for windows and logs, other than a number of tokens. */
export const WINDOW_OUTCOME = {
  /** The word has changed: load it, read the clock and call again. */
  again: -1,
  /** The kept slots must be added up first. */
  newSlot: -2,
  /** The word is invalid. */
  damaged: -3,
  /** Another configuration record is live: read it and call again. */
  changed: -4,
  /** All configuration records are claimed. */
  busy: -5,
} as const;
/** Added to the number of tokens if the call opened a window. */
export const OPENED = 2 ** 30;

// Keyed tables.

/** The most entries that a call probes: a key's window. */
export const PROBES = 64;
/** How many of them are at the key's first home; the rest are at its second. */
export const AT_FIRST_HOME = PROBES / 2;

/** Instead of a wait: the key has no entry, and its window has no free one. */
export const NO_PLACE = -5;

/** The treatment of a key that finds no place. */
export const WHEN_FULL = { share: 0, refuse: 1, admit: 2 } as const;
/** Keys without a place share one bucket, or all their calls are refused or admitted. */
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
export const PATIENCE = 200;

/** A thread may keep the slots of these places of a rack between its calls. */
export const KEPT_PLACES = 64;
/** Passes over a rack before a call gives up: far longer than a thread holds a slot. */
export const RACK_ATTEMPTS = 25_000;

/** The last tick that fits into a state word: 8.9 years. Time is clamped to it. */
export const LAST_TICKS = 2 ** 60 - 2 ** 8;
export const FIRST_TICKS = -(2 ** 59);

/** The range of ticks per microsecond in which a change of limits can set a table's clock. */
export const TABLE_SPEED = { least: 1, most: 2 ** 15 } as const;

// Semaphores.

/** The most permits of a semaphore: 17 bits of its word hold them, signed. */
export const MAX_PERMITS = 65_535;
/** The states of a seat. */
export const SEAT_STATE = { free: 0, asked: 1, held: 2, changing: 3 } as const;
/** How the last exchange of a semaphore's word changed the seat that it names. */
export const SEAT_CHANGE = { joined: 0, granted: 1, returned: 2, changed: 3 } as const;
/** The answers of `semaphoreTake` and `semaphoreJoin` other than a seat. */
export const NO_PERMIT = { refused: -1, behind: -2, noSeat: -3 } as const;
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
