import { WINDOW_TICKS_PER_MICRO as TICKS_PER_MICRO } from '../constants.ts';

/** The longest interval: 3.2 years. */
export const MAX_INTERVAL_MS = 1e11;

/** Products of doubles may be too large by this: 1.1 ms are 17,600 ticks, not 17,601. */
const PRODUCT_ERROR = 1e-6;

/** Ticks are exact doubles up to this value: 17.8 years. */
export const MAX_TICKS = 2 ** 53;

/** An interval in ticks, rounded up so that a window is never shorter than requested. */
export function intervalTicksOf(intervalMs: number): number {
  return Math.ceil(intervalMs * 1000 * TICKS_PER_MICRO - PRODUCT_ERROR);
}

/** A clock instant in ticks from the clock's own origin. */
export function clockTicks(nowUs: number): number {
  return Math.round(nowUs * TICKS_PER_MICRO);
}

/**
 * The tick of a log's creation. It makes the entries of a new ring, which are 0, older than the
 * longest interval, even if the clock steps back by 2.2 years.
 */
export const LOG_EPOCH_TICKS = intervalTicksOf(MAX_INTERVAL_MS) + 2 ** 50;
