import type { CellPlace } from '../../memory/cell.ts';
import { fail } from '../bucket/failure.ts';
import type { HostedBucket } from '../bucket/host.ts';
import { BUSY, DAMAGED } from '../bucket/kernel.ts';
import { continuous, perInterval, type Schedule, scheduleFrom } from '../bucket/schedule.ts';
import { readTable } from './cell.ts';
import type { TableEngine } from './engine.ts';
import { type LiveLimits, liveLimits } from './limit-records.ts';
import { changedLimits, type Limits, type NameOf, type TableLimit } from './limits.ts';

/** Computes new limits from those in force. */
export type Change = (inForce: Limits<Schedule>) => Limits<Schedule>;

/** The limits in force in a table. */
export function limitsOf(place: CellPlace): LiveLimits {
  const { recordsAt, limitCount } = readTable(place);
  return liveLimits(place, recordsAt, limitCount);
}

export function scheduleOf({ pace, burst, ticksPerToken, fillTicks }: TableLimit): Schedule {
  return scheduleFrom(pace, burst, ticksPerToken, fillTicks);
}

export function schedulesOf({ limits: [own, ...tiers] }: LiveLimits): Limits<Schedule> {
  return [scheduleOf(own), ...tiers.map(scheduleOf)];
}

/** Changes the limits of a table for all threads; `at` names a limit in an error. */
export function changeTable(
  place: CellPlace,
  engine: TableEngine,
  nowUs: number,
  change: Change,
  at: NameOf,
): void {
  if (!Number.isFinite(nowUs)) fail(DAMAGED);
  for (;;) {
    const before = limitsOf(place);
    const next = changedLimits(before, change(schedulesOf(before)), at);
    if (engine.beginChange() < 0) fail(BUSY);
    for (const [i, { pace, burst, ticksPerToken, fillTicks }] of next.limits.entries()) {
      engine.putLimit(i, pace, burst, ticksPerToken, fillTicks);
    }
    if (engine.publishChange(before.live, nowUs, next.ticksPerMicro) !== 0) return;
  }
}

/** Gives the shared bucket the table's own limit; of concurrent changes, the last one's. */
export function changeShared(place: CellPlace, shared: HostedBucket, nowUs: number): void {
  for (;;) {
    const { live, limits } = limitsOf(place);
    const { pace, burst, fillTicks } = limits[0];
    const next = fillTicks > 0 ? perInterval(burst, pace / 1000, burst) : continuous(pace, burst);
    shared.reconfigure(nowUs, next);
    if (limitsOf(place).live === live) return;
  }
}
