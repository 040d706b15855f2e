import { load64 } from '../accesses';
import { round } from '../arithmetic';
import { DAMAGED, LATER, TABLE_SPAN_TICKS } from '../constants';
import { begin, renew } from '.';
import { bringUp, isUpToDate, tierOf } from './carry';
import { chargeKey, heldTicks, look, seenState, STALE } from './charge';
import { isInForce, tier, useTier } from './limits';
import { costOfSpan, heldBefore, longestWait, restNow, sinceFill, zeroTimeOf } from './state';
import { find, isLive, NONE, STATE } from './table';
import { fillAt, fillTicks, ticksPerMicro, ticksPerToken } from '../bucket/limit';

// Puts a key's bucket into debt. An entry in debt is never reclaimed.

/**
 * Empties a key's bucket for `us` microseconds, at most 8.9 years; a quantum bucket stays empty
 * until the next fill after that. A longer debt stays. Returns 0, NO_PLACE or DAMAGED.
 */
export function block(high: u32, low: u32, nowUs: f64, us: f64): f64 {
  const asked = tier;
  let answer = STALE;
  for (let isSound = begin(high, low, nowUs); answer == STALE; isSound = renew(nowUs)) {
    // A block does not depend on limits. It keeps the tier, unless the bucket is unused.
    const entry = isSound ? find() : NONE;
    let state = entry == NONE ? 0 : load64(entry + STATE);
    if (isLive(state) && !isUpToDate(state)) state = bringUp(entry + STATE, state);
    if (isLive(state) && tierOf(state) != tier) {
      useTier(tierOf(state));
      isSound = renew(nowUs);
      if (zeroTimeOf(state) <= restNow()) {
        useTier(asked);
        isSound = renew(nowUs);
      }
    }
    answer = isSound ? blockFor(us) : DAMAGED;
  }
  if (tier != asked) useTier(asked);
  return answer;
}

function blockFor(us: f64): f64 {
  if (ticksPerToken == 0) return isInForce() ? 0 : STALE;
  const longest = longestWait();
  const span = sinceFill + round(us * ticksPerMicro);
  const ticks = costOfSpan(fillAt(min(fillTicks == 0 ? span : span - 1, longest)) as i64);
  while (true) {
    const looked = look();
    if (looked != 0) return looked;
    const cost = ticks + heldBefore(heldTicks);
    if (cost <= 0) return 0;
    // Only from the state seen, so that a debt added by another thread is not added to this.
    const wait = chargeKey(cost, longest, seenState, TABLE_SPAN_TICKS);
    if (wait != LATER) return min<f64>(wait, 0);
  }
}
