// The fixed-point time domain of a bucket. Plain numbers: the compiled kernel is built with them too.

/** Ticks per microsecond that a schedule aims at. */
export const TICKS_PER_MICRO = 4096;
/** How long a bucket may take to fill: 2^59 ticks, 4.4 years. The word holds twice that, both ways. */
export const MAX_SPAN_TICKS = 2 ** 59;
/** Past this many ticks since its origin (12 days) a record is renewed, so that `now` is exact. */
export const RENEW_TICKS = 2 ** 52;

/** Origins of records are spread over this many places, */
export const ORIGIN_PLACES = 1009;
/** this far apart; */
export const ORIGIN_STEP_US = 991;
/** a quantum bucket's lie on its grid of fills, at most this far back. */
export const MAX_ORIGIN_TICKS = 2 ** 40;

/** Intervals that differ by less are the same one: each was divided from ticks, and so rounded. */
export const SAME_INTERVAL = 2 ** -40;
/** A claim takes microseconds; looking so often outlasts a claimant that has lost its time slice. */
export const CLAIM_ATTEMPTS = 1_000_000;
