import type { CellPlace } from '../../memory/cell.ts';
import { KEYED } from '../../memory/layout.ts';
import { fail, sound } from '../bucket/failure.ts';
import { AGAIN, BUSY } from '../bucket/kernel.ts';
import { type Schedule, scheduleFrom } from '../bucket/schedule.ts';
import { awaitClaims } from '../claims.ts';
import { readTable } from './cell.ts';
import type { KeyedEngine } from './engine.ts';
import { type LiveLimits, liveLimits } from './limit-records.ts';
import { type Limits, type NameOf, type TableLimit, tableLimits } from './limits.ts';

/** Computes new limits from those in force. */
export type Change = (inForce: Limits<Schedule>) => Limits<Schedule>;

/** The limits in force in a table. */
export function limitsOf(place: CellPlace): LiveLimits {
  const { recordsAt, limitCount } = readTable(place);
  return liveLimits(place, recordsAt, limitCount);
}

/** A limit in force as a schedule, in which a window fills to its limit. */
export function scheduleOf({ pace, burst, ticksPerToken, fillTicks }: TableLimit): Schedule {
  const fill = fillTicks === 0 ? 0 : burst * ticksPerToken;
  return scheduleFrom(pace, burst, ticksPerToken, fill);
}

export function schedulesOf({ limits: [own, ...tiers] }: LiveLimits): Limits<Schedule> {
  return [scheduleOf(own), ...tiers.map(scheduleOf)];
}

/** Changes the limits of a table for all threads; `at` names a limit in an error. */
export function changeTable(
  place: CellPlace,
  engine: KeyedEngine,
  readClock: () => number,
  change: Change,
  at: NameOf,
): void {
  for (;;) {
    const before = limitsOf(place);
    // Before a record is claimed, because it may throw.
    const next = tableLimits(change(schedulesOf(before)), at, before.limits);
    const nowUs = readClock();
    if (!Number.isFinite(nowUs)) fail();
    const begun = engine.beginChange(nowUs);
    if (begun === BUSY) {
      awaitClaims(place, KEYED.claims);
      continue;
    }
    sound(begun);
    for (const [i, { pace, burst, ticksPerToken, fillTicks }] of next.entries()) {
      engine.putLimit(i, pace, burst, ticksPerToken, fillTicks);
    }
    const outcome = engine.publishChange(before.live);
    if (outcome !== AGAIN) {
      sound(outcome);
      return;
    }
  }
}
