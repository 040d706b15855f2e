import { Region } from '../../src/index.ts';
import type { Schedule } from '../../src/kernel/bucket/schedule.ts';
import type { WhenFull } from '../../src/kernel/constants.ts';
import { createLimitSetCell } from '../../src/kernel/limit-set/cell.ts';

/** A table in a region of its own. */
export function createTable(
  schedules: readonly Schedule[],
  capacity: number,
  whenFull: WhenFull = 'refuse',
  nowUs = 0,
  plain = false,
) {
  return createLimitSetCell({
    ...{ schedules, nowUs, capacity, whenFull, stats: true },
    region: Region.create({ bytes: 2 ** 17, plain }),
  });
}
