import {
  type ContinuousLimit,
  KeyedTokenBucket,
  type KeyedTokenBucketOptions,
  ManualClock,
} from '../../src/index.ts';

/** What each key may do: bursts of 4, and 250 a second. */
export const LIMITS: readonly ContinuousLimit[] = [
  { rate: 1000, burst: 4 },
  { rate: 250, burst: 10 },
];

/** A table whose keys have these limits, on a manual clock. */
export function createTable(
  options: Partial<KeyedTokenBucketOptions> = {},
  clock = ManualClock.create(),
): { made: KeyedTokenBucket; clock: ManualClock } {
  const given = { limits: LIMITS, capacity: 10, clock, ...options } as KeyedTokenBucketOptions;
  return { made: KeyedTokenBucket.create(given), clock };
}
