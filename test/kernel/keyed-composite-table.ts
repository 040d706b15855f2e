import { Region } from '../../src/index.ts';
import type { Schedule } from '../../src/kernel/bucket/schedule.ts';
import type { WhenFull } from '../../src/kernel/constants.ts';
import { createKeyedCell } from '../../src/kernel/keyed/cell.ts';
import { type Limits, tableLimits } from '../../src/kernel/keyed/limits.ts';

/** Errors need not name the limit. */
export const unnamed = <T>(_: number, make: () => T): T => make();

/** A table in a region of its own. */
export function createTable(
  schedules: Limits<Schedule>,
  capacity: number,
  whenFull: WhenFull = 'refuse',
  nowUs = 0,
  plain = false,
) {
  return createKeyedCell({
    ...{ kind: 'keyed-token-bucket', schedule: schedules[0], limitsPerKey: schedules.length },
    ...{ limits: tableLimits(schedules, unnamed), nowUs, capacity, whenFull, stats: true },
    region: Region.create({ bytes: 2 ** 17, plain }),
  });
}
