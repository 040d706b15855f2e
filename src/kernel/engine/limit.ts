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

// The limit that the call works with, as read from a configuration record, and its arithmetic.

export let burst: f64 = 0;
export let ticksPerToken: f64 = 0;
export let ticksPerMicro: f64 = 0;
export let capTicks: i64 = 0;
export let fillTicks: f64 = 0;
export let originUs: f64 = 0;

/** Beyond these, both ways, ticks would not fit into a word: a clock that far off is stuck there. */
const FURTHEST: f64 = 4 * (MAX_SPAN_TICKS as f64);

/** Reads the limit of a record; false if its numbers make no sense. */
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

/** Counts from another origin than the record's. */
export function countFrom(us: f64): void {
  originUs = us;
}

/** The tick nearest to an instant of the clock; NaN if there is none. */
export function nearestTick(nowUs: f64): f64 {
  return min(max(round((nowUs - originUs) * ticksPerMicro), -FURTHEST), FURTHEST);
}

/** The tick from which a bucket counts: the last fill of a quantum bucket. */
export function fillAt(tick: f64): f64 {
  return fillTicks == 0 ? tick : floor(tick / fillTicks) * fillTicks;
}

/** What tokens cost, rounded up: a fraction of a tick is never given away. */
export function costOf(tokens: f64): i64 {
  return ticksUp(tokens, ticksPerToken);
}

/** Ticks as tokens: never more than the burst, which is rounded up to ticks. */
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
