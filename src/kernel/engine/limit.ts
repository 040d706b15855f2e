import { isWhole, round, ticksUp } from './arithmetic';
import {
  MAX_SPAN_TICKS,
  RECORD_burst,
  RECORD_capTicks,
  RECORD_fillTicks,
  RECORD_originUs,
  RECORD_ticksPerMicro,
  RECORD_ticksPerToken,
  TICKS_PER_MICRO,
} from './constants';
import { readF64, readI64 } from './accesses';

// The limit of this call, as read from a configuration record, and its arithmetic.

export let burst: f64 = 0;
export let ticksPerToken: f64 = 0;
export let ticksPerMicro: f64 = 0;
export let capTicks: i64 = 0;
export let fillTicks: f64 = 0;
export let originUs: f64 = 0;

/** Ticks further than this from 0 would not fit into a word. */
const FURTHEST: f64 = 4 * (MAX_SPAN_TICKS as f64);

/** Reads the limit of a record; false if its numbers are invalid. */
export function readLimit(record: usize): bool {
  burst = readF64(record + RECORD_burst);
  ticksPerToken = readF64(record + RECORD_ticksPerToken);
  ticksPerMicro = readF64(record + RECORD_ticksPerMicro);
  capTicks = readI64(record + RECORD_capTicks);
  fillTicks = readF64(record + RECORD_fillTicks);
  originUs = readF64(record + RECORD_originUs);
  return (
    burst > 0 &&
    isWhole(ticksPerToken) &&
    ticksPerMicro > 0 &&
    ticksPerMicro <= 2 * TICKS_PER_MICRO &&
    (capTicks as u64) <= (MAX_SPAN_TICKS as u64) &&
    isWhole(fillTicks)
  );
}

/** Replaces the record's origin. */
export function countFrom(us: f64): void {
  originUs = us;
}

/** The tick nearest to a clock instant, NaN if invalid. Clamped in the far past. */
export function nearestTick(nowUs: f64): f64 {
  return max(round((nowUs - originUs) * ticksPerMicro), -FURTHEST);
}

/** The tick from which a bucket counts at an instant, clamped in the far future. */
export function countedTick(nowUs: f64): i64 {
  return min(fillAt(nearestTick(nowUs)), FURTHEST) as i64;
}

/** The tick from which a bucket counts: a quantum bucket's last fill. */
export function fillAt(tick: f64): f64 {
  return fillTicks == 0 ? tick : floor(tick / fillTicks) * fillTicks;
}

/** The cost of tokens in ticks, rounded up so that no fraction of a tick is free. */
export function costOf(tokens: f64): i64 {
  return ticksUp(tokens, ticksPerToken);
}

/** Ticks as tokens, capped at the burst, which was rounded up to ticks. */
export function tokensOf(ticks: f64): f64 {
  return ticksPerToken == 0 ? Infinity : min(burst, ticks / ticksPerToken);
}

/** Microseconds from `nowUs` until a bucket that holds `held` ticks holds `wanted`. */
export function untilHeld(nowUs: f64, held: f64, wanted: f64): f64 {
  if (wanted <= held || ticksPerToken == 0) return 0;
  if (wanted > (capTicks as f64)) return Infinity;
  const missing = wanted - held;
  if (fillTicks == 0) return missing / ticksPerMicro;
  const filledAt = fillAt(nearestTick(nowUs)) + ceil(missing / fillTicks) * fillTicks;
  return filledAt / ticksPerMicro - (nowUs - originUs);
}
