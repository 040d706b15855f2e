/**
 * Limits between which nothing is rounded away: a token at each rate is a whole number of ticks at
 * the others.
 */
export const EXACT_LIMITS = [
  { rate: 1000, burst: 100_000 },
  { rate: 4000, burst: 200_000 },
  { quantum: 8, fillIntervalMs: 1, burst: 150_000 },
];
