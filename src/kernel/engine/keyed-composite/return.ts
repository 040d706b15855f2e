import { exchange64, load64, peek64, writeI64 } from '../accesses';
import { joined, ticksDown } from '../arithmetic';
import { DAMAGED, KEYED_SLOT_holding, KEYED_SLOT_mark, MAX_SPAN_TICKS } from '../constants';
import { begin, end } from './keyed-composite';
import { isShared, relearn } from './charge';
import { capOf, count, isInForce, isNothing, priceOf, useLimit } from './limits';
import { areSlots, holdingOf, slotAt, spare, spareAt, swapSpare, zeroTimeAt } from './slot';
import { firstTick, openSlot, sign, zeroTimeIn } from './survey';
import { liveAfter, slotOf } from './state';
import { known } from '../keyed/limits';
import { find, identityOf, isLive, isOwned, NONE, STATE } from '../keyed/table';
import { costOf } from '../bucket/limit';
import { failed } from '../results';

// Moves the zero-times of a key back: returned tokens, and cancelled admissions.

/** More ticks than any debt. */
const ALL: i64 = 2 * MAX_SPAN_TICKS;

/** Tokens for a key without a bucket lapse, because they may belong to the shared bucket. */
export function returnTokens(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  return begin(high, low, nowUs) ? end(giveBack(tokens, false)) : failed;
}

/** Fills a key's bucket under every limit. */
export function reset(high: u32, low: u32, nowUs: f64): f64 {
  return begin(high, low, nowUs) ? end(giveBack(0, true)) : failed;
}

/** Returns tokens, or fills the bucket, up to every burst: 0 or DAMAGED. */
function giveBack(tokens: f64, fills: bool): f64 {
  while (true) {
    if (!isInForce() && !relearn()) return DAMAGED;
    const entry = find();
    if (entry == NONE) return 0;
    const state = load64(entry + STATE);
    if (!isLive(state) || identityOf(entry) == 0) continue;
    if (!areSlots(slotOf(entry, state))) return DAMAGED;
    const slot = slotAt(slotOf(entry, state));
    const full = firstTick();
    openSlot(slot);
    let isMoved = false;
    for (let i = 0; i < count; i++) {
      const price = priceOf(i);
      const floor = full - capOf(i, price);
      const before = zeroTimeIn(slot, i);
      const back = fills ? ALL : ticksDown(tokens, price);
      const next = before <= floor ? before : max(before - back, floor);
      if (next != before) isMoved = true;
      writeI64(zeroTimeAt(spareAt, i), next);
    }
    sign(peek64(slot + KEYED_SLOT_mark));
    if (!isInForce()) continue;
    if (!isMoved) {
      if (load64(entry + STATE) == state) return 0;
    } else if (replace(entry, state)) return 0;
  }
}

/** Gives the entry the zero-times in the spare slot, if its state is unchanged. */
function replace(entry: usize, state: i64): bool {
  const slot = slotOf(entry, state);
  const holding = holdingOf(slot);
  if (exchange64(entry + STATE, state, liveAfter(state, spare)) != state) return false;
  swapSpare(slot, holding);
  return true;
}

/**
 * Cancels the admission of a receipt if it is the latest not cancelled, and the limits are the
 * same. `high` is the high half of the key's hash; the words are its mark and the previous one.
 */
export function cancel(
  entry: i32,
  high: i32,
  version: i32,
  markLow: i32,
  markHigh: i32,
  beforeLow: i32,
  beforeHigh: i32,
  limits: i32,
  tokens: f64,
): bool {
  if (!begin(0, 0, 0)) return false;
  const mark = joined(markLow, markHigh);
  const before = joined(beforeLow, beforeHigh);
  const isCancelled =
    entry == 0
      ? isNothing(tokens)
      : limits == known &&
        withdrawFrom((entry as usize) << 3, joined(version, high), mark, before, tokens);
  end(0);
  return isCancelled;
}

function withdrawFrom(entry: usize, identity: i64, mark: i64, before: i64, tokens: f64): bool {
  while (true) {
    const state = load64(entry + STATE);
    // The identity is read while the entry has this state, or the exchange below fails.
    if (!isShared(entry) && (!isLive(state) || !isOwned(entry, identity))) return false;
    if (!areSlots(slotOf(entry, state))) return false;
    const slot = slotAt(slotOf(entry, state));
    if (
      peek64(slot + KEYED_SLOT_mark) != mark ||
      (peek64(slot + KEYED_SLOT_holding) as i32) != known
    ) {
      if (load64(entry + STATE) == state) return false;
      continue;
    }
    for (let i = 0; i < count; i++) {
      useLimit(i);
      writeI64(zeroTimeAt(spareAt, i), peek64(zeroTimeAt(slot, i)) - costOf(tokens));
    }
    sign(before);
    if (!isInForce()) return false;
    if (replace(entry, state)) return true;
  }
}
