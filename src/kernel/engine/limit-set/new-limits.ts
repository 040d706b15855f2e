import { exchange64, load64 } from '../accesses';
import { ticksUp } from '../arithmetic';
import { claimUnseen, putF64, putI64 } from '../claim';
import {
  AGAIN,
  CROWDED,
  DAMAGED,
  ENTRY_BYTES,
  KEYED_claims,
  KEYED_table,
  SET_LIMIT_burst,
  SET_LIMIT_capTicks,
  SET_LIMIT_flow,
  SET_LIMIT_rate,
  SET_LIMIT_rest,
  SET_LIMIT_ticksPerMicro,
  SET_LIMIT_ticksPerToken,
  SET_RECORD_sinceUs,
} from '../constants';
import { isHeld } from '../keyed/claim';
import { isLive, STATE } from '../keyed/table';
import { freed } from '../keyed/word';
import { bringUp, shared } from '../limit-set/charge';
import { flowOf, limitIn, live, originOf, pace, recordOf, restOf } from '../limit-set/record';
import { carried } from '../limit-set/schedule';
import { isSlot, slotOf, stateAfter, takeSpare } from '../limit-set/slot';

// What a change of a set's limits writes. Replaces keyed/new-limits.ts in the module of limit sets.
// Its imports are as from there. Entries name the live record or the last one, so no record is
// written that an entry names.

export { end, shared } from '../limit-set/charge';
export { isInForce, known, learn, recordOf } from '../limit-set/record';

/** The instant of the change. */
let changeUs: f64 = 0;

/** Starts a claimed record, as of an instant, or of that of the live one if that is later. */
// biome-ignore lint/correctness/noUnusedFunctionParameters: a table's records name the one before
export function beginRecord(record: usize, before: i32, nowUs: f64): void {
  changeUs = max(nowUs, originOf(live));
  putF64(record + SET_RECORD_sinceUs, changeUs);
}

/** Writes a limit that follows one of another record. At rate 0, promises keep its flow. */
export function writeLimit(
  i: i32,
  before: usize,
  record: usize,
  rate: f64,
  burst: f64,
  perToken: f64,
  // biome-ignore lint/correctness/noUnusedFunctionParameters: sets have no windows
  fillTicks: f64,
): bool {
  const from = limitIn(before, i);
  const to = limitIn(record, i);
  fill(to, rate, burst, perToken, rate > 0 ? rate : finite(flowOf(from)));
  putI64(to + SET_LIMIT_rest, -carried(restOf(from), before, changeUs, from, to));
  return true;
}

/** The flow of a paused limit that was unlimited before is 1. */
function finite(flow: f64): f64 {
  return flow < Infinity ? flow : 1;
}

/** Writes a limit of a new set, in cleared memory. Its flow at rate 0 is 1. */
export function layLimit(
  cell: usize,
  i: i32,
  nowUs: f64,
  rate: f64,
  burst: f64,
  perToken: f64,
): void {
  claimUnseen(cell + KEYED_claims);
  const at = limitIn(recordOf(0), i);
  fill(at, rate, burst, perToken, rate > 0 ? rate : 1);
  putI64(at + SET_LIMIT_rest, -ticksUp(burst, perToken));
  putF64(recordOf(0) + SET_RECORD_sinceUs, nowUs);
}

function fill(at: usize, rate: f64, burst: f64, perToken: f64, flow: f64): void {
  putI64(at + SET_LIMIT_ticksPerToken, perToken as i64);
  putI64(at + SET_LIMIT_capTicks, ticksUp(burst, perToken));
  putF64(at + SET_LIMIT_ticksPerMicro, rate > 0 ? pace(perToken as i64, flow) : 0);
  putF64(at + SET_LIMIT_flow, flow);
  putF64(at + SET_LIMIT_burst, burst);
  putF64(at + SET_LIMIT_rate, rate);
}

/** Brings a live entry up to the limits in force: 0, AGAIN or a failure. */
export function bringUpLive(entry: usize, state: i64): i32 {
  const slot = slotOf(entry, state);
  if (!isSlot(slot)) return DAMAGED;
  if (!takeSpare()) return CROWDED;
  // Another thread may have the slot by now, and write into it.
  return bringUp(entry, state, slot) == 0 && load64(entry + STATE) == state ? 0 : AGAIN;
}

/**
 * Changes the state of every entry, but none of its contents, so that no exchange succeeds that was
 * prepared before.
 */
export function fence(cell: usize): void {
  for (let entry = cell + KEYED_table; entry <= shared; entry += ENTRY_BYTES) {
    while (true) {
      const state = load64(entry + STATE);
      const isEntryLive = entry == shared || isLive(state);
      if (!isEntryLive && !isHeld(state)) break;
      const slot = slotOf(entry, state);
      const next = isEntryLive ? stateAfter(state, slot, 1) : freed(state);
      if (exchange64(entry + STATE, state, next) == state) break;
    }
  }
}
