import { exchange64, load64, readF64 } from './accesses';
import { joined } from './arithmetic';
import {
  CELL_word,
  INDEX_BITS,
  SOMETIMES_every,
  SOMETIMES_first,
  SOMETIMES_intervalMs,
  SOMETIMES_originTicks,
  WINDOW_KIND_full,
  WINDOW_KIND_log,
  WINDOW_KIND_sliding,
  WINDOW_OUTCOME_changed,
  WINDOW_OUTCOME_damaged,
} from './constants';
import { beginExchanges, word as known } from './results';
import { fixedDecide, fixedReconfigureAt, isWindowOver } from './window/fixed-window';
import {
  AGAIN,
  bitsIn,
  countOf,
  epochOf,
  forget,
  intervalTicksOf,
  inWord,
  isKnown,
  isLatest,
  knownBits,
  knownLimit,
  learn,
  leaveLimit,
  loseGuess,
  nextWord,
  placeOf,
  recordOf,
  remember,
  takenBy,
  ticksAt,
  UNDECIDED,
  wordOf,
} from './window/record';
import { logDecide, logReconfigureAt, logWrite } from './window/sliding-log';
import { isSlotOver, slidingDecide, slidingReconfigureAt } from './window/sliding-window';

// The exports of the module for windows, logs and `Sometimes`. `kind` and `places`, the entries of
// the ring, never change; the host passes them as it checked them, because memory may have changed
// since. Counts are at most a limit, which is below 2^30.

export { failedExchanges, receiptHigh, receiptLow } from './results';
export { fixedTake } from './window/fixed-window';
export {
  windowFullUs,
  windowLeft,
  windowLimit,
  windowLook,
  windowNextUs,
  windowPlaceHigh,
  windowPlaceLow,
  windowRecall,
  windowSeenHigh,
  windowWaitUs,
} from './window/record';
export { slidingKept, slidingKeptSlot } from './window/sliding-window';

const LOG: i32 = WINDOW_KIND_log as i32;
const SLIDING: i32 = WINDOW_KIND_sliding as i32;
const FULL: i32 = WINDOW_KIND_full as i32;
const CHANGED: i32 = WINDOW_OUTCOME_changed as i32;
const DAMAGED: i32 = WINDOW_OUTCOME_damaged as i32;

/** A cell may lie where another limiter was, in reused memory. */
export function leaveRegion(): void {
  forget();
  forgetRule();
}

/**
 * Takes all available tokens from `least` to `most`, or none, and returns their number or an
 * outcome. With `withState`, also leaves the state right after. `object` is the caller's number: see
 * `takenBy`.
 */
export function windowTakeAt(
  cell: usize,
  kind: i32,
  places: i32,
  nowUs: f64,
  least: i32,
  most: i32,
  withState: bool,
  object: i32,
  keptFor: f64,
  kept: f64,
): i32 {
  beginExchanges();
  let isEarlier = isKnown(cell);
  let word = wordOf(cell);
  while (true) {
    const named = recordOf(cell, word);
    let taken = UNDECIDED;
    if (isLatest(named) || learn(named)) {
      if (kind == LOG) {
        taken = logDecide(cell, places, word, nowUs, least, most, withState, isEarlier);
      } else if (kind == SLIDING) {
        taken = slidingDecide(
          cell,
          places,
          word,
          nowUs,
          least,
          most,
          withState,
          isEarlier,
          keptFor,
          kept,
        );
      } else {
        taken = fixedDecide(kind, word, nowUs, least, most, withState, isEarlier);
      }
    }
    if (taken == UNDECIDED) {
      const again = load64(cell + CELL_word);
      if (again == word) return DAMAGED;
      word = again;
      isEarlier = false;
      continue;
    }
    if (taken < 0) return taken;
    // Nothing is written for a refusal. What was read stands if the word is unchanged.
    const seen =
      taken == 0 ? load64(cell + CELL_word) : exchange64(cell + CELL_word, word, nextWord);
    if (seen == word) {
      remember(cell, nextWord, nowUs);
      if (withState || taken < least) leaveLimit(knownLimit);
      if (kind == LOG) logWrite(cell, places, word, nowUs, taken, withState);
      return kind == LOG || kind == FULL ? taken : takenBy(object, taken, nextWord, knownBits);
    }
    if (taken != 0) loseGuess(isEarlier, nowUs);
    isEarlier = false;
    word = seen;
  }
}

/** Puts back up to `tokens` of a window or slot, unless it is over; returns their number. */
export function windowReturnAt(
  cell: usize,
  kind: i32,
  nowUs: f64,
  tokens: i32,
  low: i32,
  high: i32,
): i32 {
  const place = joined(low, high);
  let word = wordOf(cell);
  while (true) {
    const isSliding = kind == SLIDING;
    const isOver = isSliding ? isSlotOver(cell, word, nowUs) : isWindowOver(cell, word, nowUs);
    const bits = bitsIn(recordOf(cell, word));
    const isMine = placeOf(word, bits) == place;
    const returned = isMine && !isOver ? min(tokens, countOf(word, bits)) : 0;
    const next = word - inWord(returned);
    const seen =
      returned == 0 ? load64(cell + CELL_word) : exchange64(cell + CELL_word, word, next);
    if (seen == word) {
      remember(cell, next, nowUs);
      return returned;
    }
    word = seen;
  }
}

/** Attempts once to change the limit, if the word that was looked at names this epoch. */
export function windowReconfigureAt(
  cell: usize,
  kind: i32,
  places: i32,
  nowUs: f64,
  epoch: i32,
  limit: i32,
  intervalMs: f64,
): i32 {
  if (epochOf(cell, known) != epoch) return CHANGED;
  const outcome =
    kind == LOG
      ? logReconfigureAt(cell, places, nowUs, limit, intervalMs)
      : kind == SLIDING
        ? slidingReconfigureAt(cell, places, nowUs, limit, intervalMs)
        : fixedReconfigureAt(cell, kind, nowUs, limit, intervalMs);
  if (outcome != UNDECIDED) return outcome;
  return load64(cell + CELL_word) == known ? DAMAGED : AGAIN;
}

/**
 * Cancels an admission if the word has not changed since. Cancelling an admission of 0 tokens
 * always succeeds. With `allowDoubleBurst`, a mark stays in the word until the next window opens.
 */
export function windowCancel(cell: usize, kind: i32, low: i32, high: i32, cost: i32): bool {
  if (cost == 0) return true;
  // An admission of a log has overwritten older times.
  if (kind == LOG) return false;
  const word = joined(low, high);
  const mark = kind == FULL ? (1 as i64) << (bitsIn(recordOf(cell, word)) + INDEX_BITS) : 0;
  const next = (word - inWord(cost)) | mark;
  return exchange64(cell + CELL_word, word, next) == word;
}

// One word holds the instant of the last due call and the count of calls, so both change together:
// if several threads find the interval over, exactly one acts.

/** The bits below the largest units that count 17.8 years. */
const EXACT_CALL_BITS = 11;

/** The cell whose configuration is cached; 0 for none. */
let learned: usize = 0;
let first: i32 = 0;
let every: i32 = 0;
/** The bits that count calls, as far as they matter. */
let bits: i32 = 0;
let unitTicks: f64 = 0;
let intervalUnits: f64 = 0;
let originTicks: f64 = 0;

function forgetRule(): void {
  learned = 0;
}

/** Reads the configuration, which never changes. */
function learnRule(cell: usize): void {
  first = readF64(cell + SOMETIMES_first) as i32;
  every = readF64(cell + SOMETIMES_every) as i32;
  originTicks = readF64(cell + SOMETIMES_originTicks);
  bits = 32 - clz(every == 0 ? max(first, 1) : first + every);
  unitTicks = (1 << max(0, bits - EXACT_CALL_BITS)) as f64;
  intervalUnits = ceil(intervalTicksOf(readF64(cell + SOMETIMES_intervalMs)) / unitTicks);
  learned = cell;
}

function callsOf(word: i64): i32 {
  return (word & ((1 << bits) - 1)) as i32;
}

function isDueByCount(calls: i32): bool {
  return calls == 0 || calls < first || (every > 0 && calls % every == 0);
}

/** Counts one more call; beyond `first`, only the count modulo `every` matters. */
function oneMore(calls: i32): i32 {
  if (every == 0) return min(calls + 1, max(first, 1));
  return calls + 1 >= first + every ? calls + 1 - every : calls + 1;
}

/** Counts a call of a `Sometimes` without an interval. */
export function sometimesDue(cell: usize): bool {
  if (cell != learned) learnRule(cell);
  let word = load64(cell + CELL_word);
  while (true) {
    const calls = callsOf(word);
    const next = (word - calls) | oneMore(calls);
    const seen = next == word ? word : exchange64(cell + CELL_word, word, next);
    if (seen == word) return isDueByCount(calls);
    word = seen;
  }
}

/** Counts a call at a reading. An old reading is at most too early to be due. */
export function sometimesDueAt(cell: usize, nowUs: f64): bool {
  if (cell != learned) learnRule(cell);
  const units = ticksAt(nowUs, originTicks) / unitTicks;
  let word = load64(cell + CELL_word);
  while (true) {
    const calls = callsOf(word);
    const last = ((word as u64) >> bits) as f64;
    const due = isDueByCount(calls) || floor(units) - last >= intervalUnits;
    // Rounded up here and down above, so that an interval in whole units is never too short.
    const at = due ? max(last, ceil(units)) : last;
    const next = ((at as u64) << bits) | oneMore(calls);
    const seen = next == word ? word : exchange64(cell + CELL_word, word, next);
    if (seen == word) return due;
    word = seen;
  }
}
