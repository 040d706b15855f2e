import { HandleError } from '../../errors.ts';
import type { CellPlace } from '../../memory/cell.ts';
import {
  INDEX_MASK,
  KEYED,
  KEYED_LIMIT,
  KEYED_LIMIT_BYTES,
  KEYED_RECORD,
  keyedRecordBytes,
  RECORD_COUNT,
} from '../../memory/layout.ts';
import { ticksOf } from '../bucket/schedule.ts';
import { MAX_SPAN_TICKS, TABLE_SPEED } from '../constants.ts';
import type { Limits, TableLimit, TableLimits } from './limits.ts';

/** The limits in force, and the word that names their record. */
export interface LiveLimits extends TableLimits {
  readonly live: number;
  /** The instant from which the record counts ticks. */
  readonly originUs: number;
}

/** Writes the limits of a new table, before any other thread can see it. */
export function layLimits(
  { region, offset }: CellPlace,
  recordsAt: number,
  nowUs: number,
  { ticksPerMicro, limits }: TableLimits,
): void {
  const { i32, i64, f64 } = region;
  const record = offset + recordsAt;
  const caps = limits.map(({ burst, ticksPerToken }) => ticksOf(burst, ticksPerToken, Math.ceil));
  f64[(record + KEYED_RECORD.originUs) >> 3] = nowUs;
  f64[(record + KEYED_RECORD.ticksPerMicro) >> 3] = ticksPerMicro;
  i64[(record + KEYED_RECORD.mostTicks) >> 3] = caps.reduce((a, b) => (a > b ? a : b));
  for (const [i, limit] of limits.entries()) {
    const at = record + KEYED_RECORD.limits + i * KEYED_LIMIT_BYTES;
    f64[(at + KEYED_LIMIT.pace) >> 3] = limit.pace;
    f64[(at + KEYED_LIMIT.burst) >> 3] = limit.burst;
    f64[(at + KEYED_LIMIT.ticksPerToken) >> 3] = limit.ticksPerToken;
    f64[(at + KEYED_LIMIT.fillTicks) >> 3] = limit.fillTicks;
  }
  i32[(offset + KEYED.live) >> 2] = RECORD_COUNT;
}

/**
 * Reads the limits in force.
 *
 * @throws HandleError `ERR_REGION_DAMAGED`
 */
export function liveLimits(
  { region, offset }: CellPlace,
  recordsAt: number,
  count: number,
): LiveLimits {
  const { i32, f64 } = region;
  const at = (offset + KEYED.live) >> 2;
  for (;;) {
    const live = Atomics.load(i32, at);
    const record = offset + recordsAt + (live & INDEX_MASK) * keyedRecordBytes(count);
    const originUs = f64[(record + KEYED_RECORD.originUs) >> 3] ?? Number.NaN;
    const ticksPerMicro = f64[(record + KEYED_RECORD.ticksPerMicro) >> 3] ?? Number.NaN;
    const limits = Array.from({ length: count }, (_, i): TableLimit => {
      const limit = record + KEYED_RECORD.limits + i * KEYED_LIMIT_BYTES;
      const field = (name: keyof typeof KEYED_LIMIT) =>
        f64[(limit + KEYED_LIMIT[name]) >> 3] ?? Number.NaN;
      return {
        pace: field('pace'),
        burst: field('burst'),
        ticksPerToken: field('ticksPerToken'),
        fillTicks: field('fillTicks'),
      };
    });
    // Unchanged, so the values belong together: no thread writes a record that the word names.
    if (Atomics.load(i32, at) !== live) continue;
    if (
      !Number.isFinite(originUs) ||
      !(ticksPerMicro > 0 && ticksPerMicro <= TABLE_SPEED.most) ||
      !limits.every(isSound)
    ) {
      throw new HandleError('ERR_REGION_DAMAGED', "the table's limits are invalid");
    }
    return { live, originUs, ticksPerMicro, limits: limits as unknown as Limits<TableLimit> }; // at least one
  }
}

function isSound({ pace, burst, ticksPerToken, fillTicks }: TableLimit): boolean {
  return (
    pace > 0 &&
    burst > 0 &&
    Number.isSafeInteger(ticksPerToken) &&
    ticksPerToken >= 0 &&
    Number.isSafeInteger(fillTicks) &&
    fillTicks >= 0 &&
    (ticksPerToken === 0 || burst * ticksPerToken <= MAX_SPAN_TICKS)
  );
}
