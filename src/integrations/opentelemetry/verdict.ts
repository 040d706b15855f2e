// Verdicts on a span.

/** Its randomness does not reach the threshold. */
export const UNMET = 0;
/** Dropped regardless of its randomness: the limit has no token, or its probability is 0. */
export const REFUSED = 1;
/** Kept by its randomness: the threshold gives its adjusted count. */
export const COUNTED = 2;
/** Kept without an adjusted count. */
export const UNCOUNTED = 3;
