import { bitsOf, load32, readF64, readI64 } from '../accesses';
import { isWhole, MAX_SAFE, round, ticksUp } from '../arithmetic';
import { setLimit } from '../bucket/limit';
import { putF64, putI64 } from '../claim';
import {
  KEYED_live,
  MAX_SPAN_TICKS,
  SET_LIMIT_burst,
  SET_LIMIT_capTicks,
  SET_LIMIT_flow,
  SET_LIMIT_rate,
  SET_LIMIT_rest,
  SET_LIMIT_ticksPerMicro,
  SET_LIMIT_ticksPerToken,
  TICKS_PER_MICRO,
} from '../constants';
import { count, know, known, limitIn, recordOf, sinceOf, UNKNOWN } from '../keyed/records';
import { cell } from '../keyed/table';

// The limits of a set, and the instant of a call. Each limit counts in a tick of its own, from the
// instant at which its record went live, so no rate is rounded by another.
//
// A slot names the record of its zero-times. Invariant: no thread writes a record that a slot of an
// entry names, so the numbers of a record are consistent if the entry is unchanged afterwards.

/** The live record, as this call read it. */
export let live: usize = 0;

// The numbers of the live record, computed when it is first read.
/** Whether taking tokens changes nothing. */
export let isUnlimited: bool = false;
/** Whether some limit has the rate 0. */
export let isPaused: bool = false;
/** The smallest burst of the limits that are not unlimited. */
export let leastBurst: f64 = 0;

/** The ticks of a token; 0 if the limit is unlimited. */
export function priceOf(limit: usize): i64 {
  return readI64(limit + SET_LIMIT_ticksPerToken);
}

export function capOf(limit: usize): i64 {
  return readI64(limit + SET_LIMIT_capTicks);
}

/** Ticks per microsecond; 0 while the limit is paused. */
export function speedOf(limit: usize): f64 {
  return readF64(limit + SET_LIMIT_ticksPerMicro);
}

/** The last rate above 0, by which promised tokens are spaced; Infinity if unlimited. */
export function flowOf(limit: usize): f64 {
  return readF64(limit + SET_LIMIT_flow);
}

export function rateOf(limit: usize): f64 {
  return readF64(limit + SET_LIMIT_rate);
}

/** The zero-time of a key that was never seen. */
export function restOf(limit: usize): i64 {
  return readI64(limit + SET_LIMIT_rest);
}

export function burstOf(limit: usize): f64 {
  return readF64(limit + SET_LIMIT_burst);
}

/** Ticks per microsecond at which promised tokens are spaced, also while the limit is paused. */
export function pace(price: i64, flow: f64): f64 {
  return price == 0 ? TICKS_PER_MICRO : ((price as f64) * flow) / 1e6;
}

/** Finds the live record; false if its numbers are invalid. */
export function learn(): bool {
  while (true) {
    const word = load32(cell + KEYED_live);
    if (word == known) return true;
    const sound = read(recordOf(word));
    if (load32(cell + KEYED_live) != word) continue;
    know(sound ? word : UNKNOWN);
    live = recordOf(word);
    return sound;
  }
}

function read(record: usize): bool {
  isUnlimited = true;
  isPaused = false;
  leastBurst = Infinity;
  if (sinceOf(record) - sinceOf(record) != 0) return false;
  for (let i = 0; i < count; i++) {
    if (!isSound(limitIn(record, i))) return false;
    if (rateOf(limitIn(record, i)) == 0) isPaused = true;
    if (priceOf(limitIn(record, i)) == 0) continue;
    isUnlimited = false;
    leastBurst = min(leastBurst, burstOf(limitIn(record, i)));
  }
  return true;
}

function isSound(limit: usize): bool {
  const price = priceOf(limit) as f64;
  const speed = speedOf(limit);
  const flow = flowOf(limit);
  const burst = burstOf(limit);
  if (!(isWhole(price) && burst > 0 && flow > 0 && speed >= 0)) return false;
  return (
    speed <= 2 * TICKS_PER_MICRO &&
    (capOf(limit) as u64) <= (MAX_SPAN_TICKS as u64) &&
    capOf(limit) == ticksUp(burst, price)
  );
}

/** The number of units of the token index in a token, whose fractions are rounded up. */
export const INDEX_UNITS: f64 = 65536;
const MOST_UNITS: f64 = 1152921504606846976;

export function unitsOf(tokens: f64): i64 {
  if (tokens == 1) return INDEX_UNITS as i64;
  return min(ceil(tokens * INDEX_UNITS), MOST_UNITS) as i64;
}

/** Times further than this, 8.9 years, count as infinitely far: at most 4 * MAX_SPAN_TICKS. */
const FURTHEST_US: f64 = 281474976710656;

/** 3 * 2^51: a double between this and 2^51 more or less ends with the bits of its whole part. */
const ROUNDER: f64 = 6755399441055744;
const ROUNDER_BITS: i64 = 0x4338000000000000;
const SUMMED: f64 = 2251799813685248;

function nearer(us: f64): f64 {
  return us > -FURTHEST_US ? min(us, FURTHEST_US) : -FURTHEST_US;
}

/** A time of {@link sinceRecord} in ticks, rounded to the nearest. */
export function tickAt(since: f64, perMicro: f64): i64 {
  const ticks = since * perMicro;
  // Much faster where the sum is exact but for the rounding.
  if (abs(ticks) < SUMMED) return bitsOf(ticks + ROUNDER) - ROUNDER_BITS;
  return round(ticks) as i64;
}

/** More ticks than this count as infinitely many. */
const MOST_TICKS: f64 = 2 * (MAX_SPAN_TICKS as f64);

/** Microseconds in ticks, rounded to the nearest. A paused limit may have any number per microsecond. */
export function ticksIn(us: f64, perMicro: f64): i64 {
  const ticks = round(us * perMicro);
  return (ticks > -MOST_TICKS ? min(ticks, MOST_TICKS) : -MOST_TICKS) as i64;
}

/** The cost of tokens in ticks, rounded up. */
export function costOf(tokens: f64, price: i64): i64 {
  if (tokens == 1) return price;
  const ticks = tokens * (price as f64);
  return ticks <= MAX_SAFE ? (ceil(ticks) as i64) : ticksUp(tokens, price as f64);
}

/** The instant of this call, which may be later than the caller's `nowUs`. */
export let instantUs: f64 = 0;

/** False if the clock returned no number. */
export function setInstant(nowUs: f64): bool {
  instantUs = nowUs;
  return nowUs - nowUs == 0;
}

/** The time from the beginning of a record to an instant. */
export function sinceRecord(record: usize, us: f64): f64 {
  return nearer(us - sinceOf(record));
}

/** Makes a limit the current one of bucket/limit.ts. */
export function useLimit(limit: usize): void {
  const price = priceOf(limit) as f64;
  setLimit(burstOf(limit), price, speedOf(limit), 0, capOf(limit), sinceOf(live));
}

/** Writes the numbers of a limit, except its rest. */
export function fill(at: usize, rate: f64, burst: f64, perToken: f64, flow: f64): void {
  putI64(at + SET_LIMIT_ticksPerToken, perToken as i64);
  putI64(at + SET_LIMIT_capTicks, ticksUp(burst, perToken));
  putF64(at + SET_LIMIT_ticksPerMicro, rate > 0 ? pace(perToken as i64, flow) : 0);
  putF64(at + SET_LIMIT_flow, flow);
  putF64(at + SET_LIMIT_burst, burst);
  putF64(at + SET_LIMIT_rate, rate);
}
