import { checkNumber } from '../../options.ts';
import { FIRST_SLOT } from '../constants.ts';
import { intervalTicksOf, MAX_TICKS, type TimeUnits, unitsOf } from './time.ts';

/** The kinds of limiter that count admissions in a window of time. */
export type WindowKind = 'fixed-window' | 'sliding-window' | 'sliding-log';

/** The number of admissions per interval. */
export interface WindowLimit {
  readonly limit: number;
  readonly intervalMs: number;
  /** The slots of a sliding window; 1 for the others. */
  readonly slots: number;
}

/** A count, and the sum of two counts, fit into 31 bits. */
export const MAX_WINDOW_LIMIT = 2 ** 30 - 1;
/** At this limit, a log's ring takes 128 MiB, and its word has 14 bits for the lap. */
const MAX_LOG_LIMIT = 2 ** 24;
const MIN_INTERVAL_MS = 0.001;
export const MAX_INTERVAL_MS = 1e11;
/** Bounded because a refusal reads every slot. */
const MAX_SLOTS = 4096;

/** The bits that hold a count up to `limit`. */
export function countBitsOf(limit: number): number {
  return 32 - Math.clz32(limit);
}

/** The bits of a fixed or sliding window's word below the time: the count and a mark. */
export function lowBitsOf(limit: number): number {
  return countBitsOf(limit) + 1;
}

/** The initial word: the first slot with a count of 0. */
export function firstSlotWord(limit: number): bigint {
  return BigInt(FIRST_SLOT) << BigInt(lowBitsOf(limit));
}

/** The time units of a fixed window. */
export function fixedWindowUnits({ limit, intervalMs }: WindowLimit): TimeUnits {
  return unitsOf(intervalMs, 64 - lowBitsOf(limit));
}

/** The length of a slot, rounded up so that all slots together cover the interval. */
export function slotTicksOf({ intervalMs, slots }: WindowLimit): number {
  return Math.ceil(intervalTicksOf(intervalMs) / slots);
}

/** The shortest slot in ticks: a microsecond, or longer if slot numbers must last 17.8 years. */
function minSlotTicks(limit: number): number {
  return Math.max(intervalTicksOf(MIN_INTERVAL_MS), MAX_TICKS / 2 ** (63 - countBitsOf(limit)));
}

/** The number of entries in a limiter's ring. */
export function ringEntries(kind: WindowKind, { limit, slots }: WindowLimit): number {
  if (kind === 'fixed-window') return 0;
  return kind === 'sliding-log' ? limit : slots;
}

/**
 * Returns `limit` if every number is in range for its kind.
 *
 * @throws RangeError, TypeError naming the parameter, its range and its value.
 */
export function checkWindowLimit(kind: WindowKind, limit: WindowLimit): WindowLimit {
  const max = kind === 'sliding-log' ? MAX_LOG_LIMIT : MAX_WINDOW_LIMIT;
  checkNumber('limit', limit.limit, { min: 1, max, integer: true });
  checkNumber('intervalMs', limit.intervalMs, { min: MIN_INTERVAL_MS, max: MAX_INTERVAL_MS });
  const maxSlots = kind === 'sliding-window' ? MAX_SLOTS : 1;
  checkNumber('slots', limit.slots, { min: 1, max: maxSlots, integer: true });
  const minTicks = minSlotTicks(limit.limit);
  if (kind === 'sliding-window' && slotTicksOf(limit) < minTicks) {
    const minMs = minTicks / intervalTicksOf(1);
    throw new RangeError(
      `intervalMs / slots must be at least ${minMs} at limit ${limit.limit}, ` +
        `got ${limit.intervalMs} / ${limit.slots}`,
    );
  }
  return limit;
}

/** Whether a limiter of this kind could have written the word. */
export function isWindowWord(kind: WindowKind, limit: number, word: bigint): boolean {
  const bits = countBitsOf(limit);
  if (BigInt.asUintN(bits, word) > limit) return false;
  if (kind === 'sliding-log') return BigInt.asUintN(bits, word >> 32n) < limit;
  return kind === 'fixed-window' || BigInt.asUintN(64, word) >= firstSlotWord(limit);
}
