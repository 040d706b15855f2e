import { exchange64, readI64 } from '../accesses';
import {
  carryIndex,
  keepOrigin,
  newCapTicks,
  newLimit,
  placeOrigin,
  writeLimit as writeNewLimit,
} from '../bucket/reconfigure';
import { put32, putF64, putI64 } from '../claim';
import {
  AGAIN,
  INDEX_BITS,
  INDEX_MASK,
  KEYED_LIMIT_rest,
  KEYED_RECORD_before,
  KEYED_RECORD_sinceUs,
  TABLE_SPAN_TICKS,
} from '../constants';
import { forgetLimit, isInForce, limitIn, read } from './limits';
import { restAfter, stateBroughtUp } from './state';
import { STATE } from './table';

// What a change of a table's limits writes, for keyed/change.ts. limit-set/new-limits.ts replaces
// this file in the module of limit sets.

export { shared } from './charge';
export { isInForce, known, learnLimit as learn, recordOf } from './limits';

/** The instant of the change, and the number of its record. */
let changeUs: f64 = 0;
let version: i32 = 0;

/** Starts a claimed record that is to follow that of a word, as of an instant. */
export function beginRecord(record: usize, before: i32, nowUs: f64): void {
  changeUs = nowUs;
  version = (before >> INDEX_BITS) + 1;
  putF64(record + KEYED_RECORD_sinceUs, nowUs);
  put32(record + KEYED_RECORD_before, before & INDEX_MASK);
}

/** Writes a limit that follows one of another record. False if one of the two is invalid. */
export function writeLimit(
  tier: i32,
  before: usize,
  record: usize,
  pace: f64,
  burst: f64,
  perToken: f64,
  fill: f64,
): bool {
  const from = limitIn(before, tier);
  const to = limitIn(record, tier);
  forgetLimit();
  const isSound = read(from);
  newLimit(pace, burst, perToken, fill);
  // The grid of windows stays.
  if (fill == 0) placeOrigin(changeUs, version);
  else keepOrigin();
  carryIndex(changeUs, 0);
  writeNewLimit(to);
  putI64(to + KEYED_LIMIT_rest, restAfter(readI64(from + KEYED_LIMIT_rest), changeUs));
  return isSound && newCapTicks <= TABLE_SPAN_TICKS;
}

/** Brings a live entry up to the limits in force: 0, or AGAIN if they or the entry have changed. */
export function bringUpLive(entry: usize, state: i64): i32 {
  if (!isInForce()) return AGAIN;
  const next = stateBroughtUp(state);
  return next == state || exchange64(entry + STATE, state, next) == state ? 0 : AGAIN;
}

/** Ends a call with a result. */
export function end(result: f64): f64 {
  return result;
}
