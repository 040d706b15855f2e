import { INDEX_BITS } from '../../memory/layout.ts';
import { checkNumber } from '../../options.ts';
import { FIRST_SLOT, WINDOW_TICKS_PER_MICRO as TICKS_PER_MICRO } from '../constants.ts';

/** The longest interval: 3.2 years. */
export const MAX_INTERVAL_MS = 1e11;

/** Products of doubles may be too large by this: 1.1 ms are 17,600 ticks, not 17,601. */
const PRODUCT_ERROR = 1e-6;

/** 2^53: ticks are exact doubles up to this value, 17.8 years. */
const MAX_TICKS = 0x20_0000_0000_0000;

/** An interval in ticks, rounded up so that a window is never shorter than requested. */
function intervalTicksOf(intervalMs: number): number {
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
export const LOG_EPOCH_TICKS = MAX_INTERVAL_MS * 1000 * TICKS_PER_MICRO + 2 ** 50;

/** The kinds of limiter that count admissions in a window of time. */
export type WindowKind = 'fixed-window' | 'sliding-window' | 'sliding-log';

/** The part of a limit that a reconfiguration can change. */
export interface Change {
  /** The number of admissions per interval. */
  readonly limit: number;
  readonly intervalMs: number;
}

/** The number of admissions per interval, and the bounds of its changes. */
export interface WindowLimit extends Change {
  /** The slots of a sliding window; 1 for others. */
  readonly slots: number;
  /** The largest limit that `reconfigure` can set, for a sliding window or log. */
  readonly maxLimit: number;
}

/** A count, and the sum of two counts, fit into 31 bits. */
export const MAX_WINDOW_LIMIT = 0x3fff_ffff;
/** At this limit, a log's ring takes 128 MiB, and its word has 11 bits for the lap. */
const MAX_LOG_LIMIT = 2 ** 24;
const MIN_INTERVAL_MS = 0.001;
/** Bounded, because a refusal reads every slot. */
const MAX_SLOTS = 4096;

/** The bits that hold a count up to `limit`. */
export function countBitsOf(limit: number): number {
  return 32 - Math.clz32(limit);
}

/** The bits of a fixed or sliding window's word below the time: the count, a mark, the record. */
function lowBitsOf(countBits: number): number {
  return countBits + 1 + INDEX_BITS;
}

/** The initial word: the first slot with a count of 0. */
export function firstSlotWord(maxLimit: number): bigint {
  return BigInt(FIRST_SLOT) << BigInt(lowBitsOf(countBitsOf(maxLimit)));
}

/** The length of a slot, rounded up so that all slots together cover the interval. */
function slotTicksOf(intervalMs: number, slots: number): number {
  return Math.ceil(intervalTicksOf(intervalMs) / slots);
}

/** The units in which a limiter counts time, and its interval in these units, rounded up. */
export function unitsOf(
  kind: WindowKind,
  countBits: number,
  intervalMs: number,
  slots: number,
): { readonly unitTicks: number; readonly intervalUnits: number } {
  const ticks = intervalTicksOf(intervalMs);
  let unitTicks = 1;
  if (kind === 'sliding-window') unitTicks = slotTicksOf(intervalMs, slots);
  // The smallest units that count 17.8 years in the bits that the count leaves.
  else if (kind === 'fixed-window')
    unitTicks = Math.max(1, MAX_TICKS / 2 ** (64 - lowBitsOf(countBits)));
  return { unitTicks, intervalUnits: Math.ceil(ticks / unitTicks) };
}

/** The shortest slot in ticks: a microsecond, or longer if slot numbers must last 17.8 years. */
function minSlotTicks(maxLimit: number): number {
  const numberBits = 64 - lowBitsOf(countBitsOf(maxLimit));
  return Math.max(intervalTicksOf(MIN_INTERVAL_MS), MAX_TICKS / 2 ** numberBits);
}

/** The number of entries in a limiter's ring. */
export function ringEntries(
  kind: WindowKind,
  { maxLimit, slots }: Pick<WindowLimit, 'maxLimit' | 'slots'>,
): number {
  if (kind === 'fixed-window') return 0;
  return kind === 'sliding-log' ? maxLimit : slots;
}

/** The largest limit of a limiter of this kind. */
function largestLimit(kind: WindowKind): number {
  return kind === 'sliding-log' ? MAX_LOG_LIMIT : MAX_WINDOW_LIMIT;
}

/**
 * Returns `limit` if every number is in range for its kind.
 *
 * @throws RangeError, TypeError naming the parameter, its range and its value.
 */
export function checkWindowLimit(kind: WindowKind, limit: WindowLimit): WindowLimit {
  checkLimit(kind, limit.limit);
  checkBounds(kind, limit);
  checkChange(kind, limit, limit);
  return limit;
}

/** Returns `limit` if a limiter of this kind can have it; otherwise throws. */
export function checkLimit(kind: WindowKind, limit: unknown): number {
  return checkNumber('limit', limit, { min: 0, max: largestLimit(kind), integer: true });
}

/** Checks the part that a reconfiguration cannot change. */
export function checkBounds(
  kind: WindowKind,
  { maxLimit, slots }: Pick<WindowLimit, 'maxLimit' | 'slots'>,
): void {
  checkNumber('maxLimit', maxLimit, { min: 1, max: largestLimit(kind), integer: true });
  const maxSlots = kind === 'sliding-window' ? MAX_SLOTS : 1;
  checkNumber('slots', slots, { min: 1, max: maxSlots, integer: true });
}

/** Returns `change` if a limiter with these bounds can be reconfigured to it; otherwise throws. */
export function checkChange(
  kind: WindowKind,
  change: Change,
  { maxLimit, slots }: Pick<WindowLimit, 'maxLimit' | 'slots'>,
): Change {
  const { limit, intervalMs } = change;
  checkNumber('limit', limit, { min: 0, max: maxLimit, integer: true });
  checkNumber('intervalMs', intervalMs, { min: MIN_INTERVAL_MS, max: MAX_INTERVAL_MS });
  const minTicks = minSlotTicks(maxLimit);
  if (kind === 'sliding-window' && slotTicksOf(intervalMs, slots) < minTicks) {
    const minMs = minTicks / intervalTicksOf(1);
    throw new RangeError(
      `intervalMs / slots must be at least ${minMs} at limit ${maxLimit}, ` +
        `got ${intervalMs} / ${slots}`,
    );
  }
  return change;
}

/** Whether a limiter of this kind could have written the word. */
export function isWindowWord(kind: WindowKind, bits: number, maxLimit: number, word: bigint) {
  if (BigInt.asUintN(bits, word >> BigInt(INDEX_BITS)) > maxLimit) return false;
  if (kind === 'sliding-log') return BigInt.asUintN(bits, word >> 32n) < maxLimit;
  return kind === 'fixed-window' || BigInt.asUintN(64, word) >= firstSlotWord(maxLimit);
}
