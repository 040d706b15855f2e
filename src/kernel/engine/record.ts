import { isWhole, round, ticksUp } from './arithmetic';
import { load32, load64 } from './atomics';
import {
  CELL_word,
  INDEX_MASK,
  MAX_SPAN_TICKS,
  RECORD_BYTES,
  RECORD_burst,
  RECORD_capTicks,
  RECORD_fillTicks,
  RECORD_generation,
  RECORD_originUs,
  RECORD_rate,
  RECORD_ticksPerMicro,
  RECORD_ticksPerToken,
  RECORDS_AT,
  TICKS_PER_MICRO,
} from './constants';
import { readF64, readI64 } from './plain';

/** Instead of a number of microseconds: the cell makes no sense, or the clock. */
export const DAMAGED: f64 = -3;

// The configuration record that was read last.
export let burst: f64 = 0;
export let ticksPerToken: f64 = 0;
export let ticksPerMicro: f64 = 0;
export let capTicks: i64 = 0;
export let fillTicks: f64 = 0;
export let originUs: f64 = 0;

/** The cell whose record was learnt; 0 if another record has been read since. */
let knownCell: usize = 0;
let knownIndex: i64 = 0;
/** The cell's word as this thread saw or left it last, and when, by the limiter's clock. */
export let knownWord: i64 = 0;
export let knownUs: f64 = 0;
export let knownGeneration: i32 = 0;

export function recordAt(cell: usize, index: usize): usize {
  return cell + RECORDS_AT + index * RECORD_BYTES;
}

/**
 * Reads the record that a word names; false if it makes no sense. Nobody writes a record that the
 * word names, so what was read is right if the word has not changed since it was loaded.
 */
export function readRecord(cell: usize, word: i64): bool {
  forget();
  const at = recordAt(cell, (word & INDEX_MASK) as usize);
  burst = readF64(at + RECORD_burst);
  ticksPerToken = readF64(at + RECORD_ticksPerToken);
  ticksPerMicro = readF64(at + RECORD_ticksPerMicro);
  capTicks = readI64(at + RECORD_capTicks);
  fillTicks = readF64(at + RECORD_fillTicks);
  originUs = readF64(at + RECORD_originUs);
  return (
    burst > 0 &&
    isWhole(ticksPerToken) &&
    ticksPerMicro > 0 &&
    ticksPerMicro <= 2 * TICKS_PER_MICRO &&
    (capTicks as u64) <= (MAX_SPAN_TICKS as u64) &&
    isWhole(fillTicks)
  );
}

/**
 * Reads the live record, and its generation before it, so that calls need not read it again; false
 * if it makes no sense. It may be of two records until a word {@link isKnown}.
 */
export function learn(cell: usize, nowUs: f64): bool {
  while (true) {
    const word = load64(cell + CELL_word);
    const generation = generationOf(cell, word);
    if (generation != 0 && readRecord(cell, word)) {
      knownCell = cell;
      knownIndex = word & INDEX_MASK;
      remember(word, nowUs);
      knownGeneration = generation;
      return true;
    }
    if (isStill(cell, word)) return false;
  }
}

export function forget(): void {
  knownCell = 0;
}

export function remember(word: i64, nowUs: f64): void {
  knownWord = word;
  knownUs = nowUs;
}

export function isLearnt(cell: usize): bool {
  return cell == knownCell;
}

/**
 * Whether a word names the record that was learnt. The generation is looked at after the word: who
 * published the word had written its record before. So this is that record's generation, or a later
 * one's, and then the word has changed since.
 */
export function isKnown(cell: usize, word: i64): bool {
  return (word & INDEX_MASK) == knownIndex && generationOf(cell, word) == knownGeneration;
}

/** The rate and the generation of the record that a word names. */
export function rateOf(cell: usize, word: i64): f64 {
  return readF64(recordAt(cell, (word & INDEX_MASK) as usize) + RECORD_rate);
}

export function generationOf(cell: usize, word: i64): i32 {
  return load32(recordAt(cell, (word & INDEX_MASK) as usize) + RECORD_generation);
}

/** Whether a cell's word is still the one that was loaded. */
export function isStill(cell: usize, word: i64): bool {
  return load64(cell + CELL_word) == word;
}

/** The tick nearest to an instant of the clock. */
export function nearestTick(nowUs: f64): f64 {
  return round((nowUs - originUs) * ticksPerMicro);
}

/** The tick from which a bucket counts: the last fill of a quantum bucket. */
export function fillAt(tick: f64): f64 {
  return fillTicks == 0 ? tick : floor(tick / fillTicks) * fillTicks;
}

/** What tokens cost, rounded up; a fraction of a tick is never given away. */
export function costOf(tokens: f64): i64 {
  return ticksUp(tokens, ticksPerToken);
}

/** Ticks as tokens: never more than the burst, which is rounded up to ticks. */
export function tokensOf(ticks: f64): f64 {
  return ticksPerToken == 0 ? Infinity : min(burst, ticks / ticksPerToken);
}

/** Microseconds from the clock's `nowUs` until a bucket that holds `held` ticks holds `wanted`. */
export function untilHeld(nowUs: f64, held: f64, wanted: f64): f64 {
  if (wanted <= held || ticksPerToken == 0) return 0;
  if (wanted > (capTicks as f64)) return Infinity;
  const missing = wanted - held;
  if (fillTicks == 0) return missing / ticksPerMicro;
  const filledAt = fillAt(nearestTick(nowUs)) + ceil(missing / fillTicks) * fillTicks;
  return filledAt / ticksPerMicro - (nowUs - originUs);
}
