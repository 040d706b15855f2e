import { load64 } from '../accesses';
import { BUSY, CELL_word, DAMAGED, INDEX_BITS, MAX_SPAN_TICKS, RENEW_TICKS } from '../constants';
import { floored } from '../decision';
import { capTicks, fillAt, nearestTick } from './limit';
import { generationOf, isKnown, isStill, readRecord } from './record';
import { renew } from './reconfigure';
import { beginRaces, failBecause } from '../results';

// A bucket at the instant of a call: the time in its ticks, its contents, and why a call fails.

const MAX_SPAN: f64 = MAX_SPAN_TICKS as f64;
const UNTIL_RENEWAL: f64 = RENEW_TICKS as f64;

/** The tick of this call, and the tick up to which the bucket's tokens have arrived. */
let tick: f64 = 0;
export let nowTicks: i64 = 0;
/**
 * The generation that this call tried to renew. It tries each once, because no record may be free.
 */
let renewed: i32 = 0;

export function begin(): void {
  beginRaces();
  renewed = 0;
  failBecause(DAMAGED);
}

// The outcomes of {@link look} and {@link renewKnown}.
export const SEEN = 0;
export const CHANGED = 1;
export const SENSELESS = 2;

/** Reads the record that a word names, and converts the time to its ticks. */
function look(cell: usize, word: i64, nowUs: f64): i32 {
  if (!readRecord(cell, word)) return isStill(cell, word) ? SENSELESS : CHANGED;
  tick = nearestTick(nowUs);
  if (isLate(tick)) {
    const outcome = renewOnce(cell, word, nowUs);
    if (outcome != SEEN) return outcome;
  }
  nowTicks = fillAt(tick) as i64;
  return SEEN;
}

/** Whether a tick is so late in its record, or NaN, that the record must be renewed. */
export function isLate(at: f64): bool {
  return !(at <= UNTIL_RENEWAL);
}

/** Renews the record that this thread knows, at a tick that {@link isLate}. */
export function renewKnown(cell: usize, nowUs: f64, late: f64): i32 {
  tick = late;
  const word = load64(cell + CELL_word);
  return isKnown(cell, word) ? renewOnce(cell, word, nowUs) : CHANGED;
}

/** Renews the record that a word names. Precondition: the tick is past UNTIL_RENEWAL, or NaN. */
function renewOnce(cell: usize, word: i64, nowUs: f64): i32 {
  const generation = generationOf(cell, word);
  if (generation != renewed) {
    renewed = generation;
    if (tick == tick) renew(cell, word, nowUs);
    return CHANGED;
  }
  if (tick <= MAX_SPAN) return SEEN;
  if (!isStill(cell, word)) return CHANGED;
  // No record was free for years, or the clock returned no number.
  if (isFinite(tick)) failBecause(BUSY);
  return SENSELESS;
}

// Results of {@link settle}: the word, and the bucket's contents in ticks.
export let settled: i64 = 0;
export let held: i64 = 0;

/** Loads the word and its record as of one instant; false if they are invalid. */
export function settle(cell: usize, nowUs: f64): bool {
  while (true) {
    const word = load64(cell + CELL_word);
    const outcome = look(cell, word, nowUs);
    if (outcome == SENSELESS) return false;
    if (outcome == SEEN && isStill(cell, word)) {
      settled = word;
      held = nowTicks - floored(word >> INDEX_BITS, nowTicks, capTicks);
      return true;
    }
  }
}
