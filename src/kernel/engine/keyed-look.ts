import { load64 } from './accesses';
import { ANY, leaveHeld } from './keyed-charge';
import { floorState, nowTicks, stateAtFirstSight, zeroTimeOf } from './keyed-state';
import { find, hasRoom, identityOf, isLive, NONE, STATE } from './keyed-table';

/** The state that the last look found; ANY if the key has no bucket yet. */
export let seenState: i64 = ANY;

/**
 * Finds what the key's bucket holds, without giving the key one; false if there is no place for it.
 */
export function look(): bool {
  while (true) {
    const entry = find();
    if (entry == NONE) {
      seenState = ANY;
      if (hasRoom(floorState())) {
        const zeroTime = zeroTimeOf(stateAtFirstSight());
        leaveHeld((nowTicks - zeroTime) as f64);
        return true;
      }
      // Another thread may have given the last place to this very key.
      if (find() == NONE) return false;
      continue;
    }
    const identity = identityOf(entry);
    const state = load64(entry + STATE);
    if (identity == 0 || !isLive(state) || identityOf(entry) != identity) continue;
    seenState = state;
    leaveHeld((nowTicks - zeroTimeOf(state)) as f64);
    return true;
  }
}
