import {
  type ContinuousLimit,
  KeyedLimitSet,
  type KeyedLimitSetOptions,
  ManualClock,
} from '../../src/index.ts';

/** What each key may do: bursts of 4, and 250 a second. */
export const LIMITS: readonly ContinuousLimit[] = [
  { rate: 1000, burst: 4 },
  { rate: 250, burst: 10 },
];

/** A table whose keys have these limits, on a manual clock. */
export function createTable(
  options: Partial<KeyedLimitSetOptions> = {},
  clock = ManualClock.create(),
): { made: KeyedLimitSet; clock: ManualClock } {
  const given = { limits: LIMITS, capacity: 10, clock, ...options };
  return { made: KeyedLimitSet.create(given), clock };
}
