import { TICKS_PER_MICRO } from '../../../src/kernel/constants.ts';
import type { CellPlace } from '../../../src/memory/cell.ts';
import { CELL, INDEX_MASK, RECORD, recordOffset } from '../../../src/memory/layout.ts';
import type { Random } from '../../support/random.ts';

/** Draws damage to a bucket's live record: a function that does it, and returns what mends it. */
export function recordDamage({ region, offset }: CellPlace, random: Random): () => () => void {
  const floats = [RECORD.burst, RECORD.ticksPerToken, RECORD.pace] as const;
  const field = random.pick([...floats, RECORD.fillTicks, RECORD.originUs]);
  const most = 2 * TICKS_PER_MICRO;
  const value = random.pick([
    Number.NaN,
    0,
    -1,
    0.5,
    2 ** 53,
    2 ** 53 - 1,
    most,
    most + 1,
    1e-3,
    Infinity,
  ]);
  const which = random.below(8);
  return () => {
    const live = (region.i32[(offset + CELL.word) >> 2] ?? 0) & INDEX_MASK;
    const record = recordOffset(offset, live);
    const before = region.i32.slice(record >> 2, (record + 64) >> 2);
    if (which === 1) region.i32[(record + RECORD.epoch) >> 2] = 0;
    else region.f64[(record + field) >> 3] = value;
    return () => region.i32.set(before, record >> 2);
  };
}
