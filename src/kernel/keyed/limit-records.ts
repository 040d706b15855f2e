import { HandleError } from '../../errors.ts';
import type { CellPlace } from '../../memory/cell.ts';
import {
  INDEX_MASK,
  KEYED,
  KEYED_LIMIT,
  KEYED_LIMIT_BYTES,
  KEYED_RECORD,
  keyedRecordBytes,
  RECORD,
  RECORD_COUNT,
} from '../../memory/layout.ts';
import { NEVER_SEEN, TABLE_SPAN_TICKS } from '../constants.ts';
import type { Limits, TableLimit } from './limits.ts';

/** The limits in force, and the word that names their record. */
export interface LiveLimits {
  readonly live: number;
  readonly limits: Limits<TableLimit>;
}

/** Writes the limits of a new table, before any other thread can see it. */
export function layLimits(
  { region, offset }: CellPlace,
  recordsAt: number,
  nowUs: number,
  limits: Limits<TableLimit>,
): void {
  const { i32, i64, f64 } = region;
  const record = offset + recordsAt;
  f64[(record + KEYED_RECORD.sinceUs) >> 3] = nowUs;
  for (const [i, limit] of limits.entries()) {
    const at = record + KEYED_RECORD.limits + i * KEYED_LIMIT_BYTES;
    i64[(at + KEYED_LIMIT.rest) >> 3] = BigInt(NEVER_SEEN);
    f64[(at + RECORD.pace) >> 3] = limit.pace;
    f64[(at + RECORD.burst) >> 3] = limit.burst;
    f64[(at + RECORD.ticksPerToken) >> 3] = limit.ticksPerToken;
    f64[(at + RECORD.fillTicks) >> 3] = limit.fillTicks;
    f64[(at + RECORD.originUs) >> 3] = nowUs;
  }
  i32[(offset + KEYED.live) >> 2] = RECORD_COUNT;
  i32[(offset + KEYED.swept) >> 2] = RECORD_COUNT;
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
    const float = (place: number) => f64[place >> 3] ?? Number.NaN;
    const limits = Array.from({ length: count }, (_, i): TableLimit => {
      const limit = record + KEYED_RECORD.limits + i * KEYED_LIMIT_BYTES;
      return {
        pace: float(limit + RECORD.pace),
        burst: float(limit + RECORD.burst),
        ticksPerToken: float(limit + RECORD.ticksPerToken),
        fillTicks: float(limit + RECORD.fillTicks),
      };
    });
    const isWhole = Number.isFinite(float(record + KEYED_RECORD.sinceUs));
    // Unchanged, so the values belong together: no thread writes a record that the word names.
    if (Atomics.load(i32, at) !== live) continue;
    if (!isWhole || !limits.every(isSound)) {
      throw new HandleError('ERR_REGION_DAMAGED', "the table's limits are invalid");
    }
    return { live, limits: limits as unknown as Limits<TableLimit> }; // at least one
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
    (ticksPerToken === 0 || burst * ticksPerToken <= TABLE_SPAN_TICKS)
  );
}
