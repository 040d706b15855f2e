import { WINDOW_TICKS_PER_MICRO as TICKS_PER_MICRO } from '../constants.ts';

/** What a product of two doubles may be too large by: 1.1 ms are 17,600 ticks, not 17,601. */
const PRODUCT_ERROR = 1e-6;

/** Up to here ticks are exact doubles: 17.8 years. */
export const MAX_TICKS = 2 ** 53;

/** An interval in ticks, rounded up: a window is never shorter than it was asked to be. */
export function intervalTicksOf(intervalMs: number): number {
  return Math.ceil(intervalMs * 1000 * TICKS_PER_MICRO - PRODUCT_ERROR);
}

/** Time in a word that has few bits for it: in units of so many ticks. */
export interface TimeUnits {
  readonly unitTicks: number;
  /** An interval, rounded up. */
  readonly intervalUnits: number;
}

/** The smallest units that last for 17.8 years in so many bits. */
export function unitsOf(intervalMs: number, bits: number): TimeUnits {
  const unitTicks = Math.max(1, MAX_TICKS / 2 ** bits);
  return { unitTicks, intervalUnits: Math.ceil(intervalTicksOf(intervalMs) / unitTicks) };
}

/** The clock's time in ticks from the clock's own origin. */
export function clockTicks(nowUs: number): number {
  return Math.round(nowUs * TICKS_PER_MICRO);
}

/**
 * The tick of a log's creation: a new ring's entries, which are 0, are then older than an interval,
 * even if the clock steps back by as much as 2.2 years.
 */
export function logEpochTicks(intervalMs: number): number {
  return intervalTicksOf(intervalMs) + 2 ** 50;
}
