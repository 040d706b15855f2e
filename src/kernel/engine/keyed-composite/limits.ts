import { load32, peekF64 } from '../accesses';
import { isWhole, ticksUp } from '../arithmetic';
import {
  KEYED_LIMIT_burst,
  KEYED_LIMIT_BYTES,
  KEYED_LIMIT_ticksPerToken,
  KEYED_live,
  KEYED_RECORD_limits,
  MAX_SPAN_TICKS,
} from '../constants';
import { known, learnLimit, recordOf } from '../keyed/limits';
import { originUs, setLimit, ticksPerMicro } from '../bucket/limit';

// The limits of every key, from the table's live record. All count in ticks of one clock. Each call
// reads their numbers again, and relies on them only if the record is still live afterwards.

let cell: usize = 0;
/** The number of limits of every key. */
export let count: i32 = 0;
let limitsAt: usize = 0;
/** The word that names the record whose limits were checked last. */
let checked: i32 = -1;
/** Whether all limits are unlimited. */
export let isUnlimited: bool = false;
/** The smallest burst of the finite limits. */
export let leastBurst: f64 = 0;

export function openAllLimits(table: usize, limits: i32): void {
  cell = table;
  count = limits;
}

/** Finds the live record; false if its numbers are invalid. */
export function learnAll(): bool {
  while (learnLimit()) {
    if (known == checked) return true;
    limitsAt = recordOf(known) + KEYED_RECORD_limits;
    const sound = areSound();
    if (!isInForce()) continue;
    if (sound) checked = known;
    return sound;
  }
  return false;
}

function areSound(): bool {
  isUnlimited = true;
  leastBurst = Infinity;
  for (let i = 0; i < count; i++) {
    const price = priceOf(i);
    const burst = burstOf(i);
    if (!(burst > 0 && isWhole(price) && (capOf(i, price) as u64) <= (MAX_SPAN_TICKS as u64)))
      return false;
    if (price == 0) continue;
    leastBurst = min(leastBurst, burst);
    isUnlimited = false;
  }
  return true;
}

/** Whether taking this many tokens changes nothing. */
export function isNothing(tokens: f64): bool {
  return tokens == 0 || isUnlimited;
}

/** Whether the record that this call knows is still live. */
export function isInForce(): bool {
  return load32(cell + KEYED_live) == known;
}

function limitAt(i: i32): usize {
  return limitsAt + (i as usize) * KEYED_LIMIT_BYTES;
}

/** The ticks of a token. */
export function priceOf(i: i32): f64 {
  return peekF64(limitAt(i) + KEYED_LIMIT_ticksPerToken);
}

function burstOf(i: i32): f64 {
  return peekF64(limitAt(i) + KEYED_LIMIT_burst);
}

export function capOf(i: i32, price: f64): i64 {
  return ticksUp(burstOf(i), price);
}

/** Makes a limit the current one of bucket/limit.ts. */
export function useLimit(i: i32): void {
  const price = priceOf(i);
  setLimit(burstOf(i), price, ticksPerMicro, 0, capOf(i, price), originUs);
}
