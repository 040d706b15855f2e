// What becomes of a span.

/** Its randomness does not reach the threshold. */
export const UNMET = 0;
/** Dropped whatever its randomness: the limit has no token, or its probability is 0. */
export const REFUSED = 1;
/** Kept by its randomness, so it counts as the threshold says. */
export const COUNTED = 2;
/** Kept, but no threshold tells how many spans it stands for. */
export const UNCOUNTED = 3;
