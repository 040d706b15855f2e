import { load32, readF64, readI64 } from '../accesses';
import { isWhole, ticksUp } from '../arithmetic';
import {
  INDEX_MASK,
  KEYED_LIMIT_burst,
  KEYED_LIMIT_BYTES,
  KEYED_LIMIT_fillTicks,
  KEYED_LIMIT_ticksPerToken,
  KEYED_live,
  KEYED_RECORD_limits,
  KEYED_RECORD_mostTicks,
  KEYED_RECORD_originTicks,
  KEYED_RECORD_originUs,
  KEYED_RECORD_ticksPerMicro,
  LINE_BYTES,
  MAX_SPAN_TICKS,
  TABLE_SPEED_most,
} from '../constants';
import { setLimit } from '../bucket/limit';

// The limits of a table: its own and its tiers'. A record holds all of them.

let cell: usize = 0;
let records: usize = 0;
let recordBytes: usize = 0;
/** The limit of this call. */
let tier: i32 = 0;
/** The word that names the record read last. No such word is negative. */
export let known: i32 = -1;

/** The tick of the record's origin. */
export let originTicks: i64 = 0;
/** The largest burst of all tiers in ticks: a bucket idle for this long is full under each. */
export let mostTicks: i64 = 0;

export function openLimits(table: usize, at: usize, limits: i32): void {
  cell = table;
  records = at;
  const bytes = (KEYED_RECORD_limits as usize) + (limits as usize) * KEYED_LIMIT_BYTES;
  recordBytes = (bytes + LINE_BYTES - 1) & ~(LINE_BYTES - 1);
}

export function recordOf(live: i32): usize {
  return records + ((live & INDEX_MASK) as usize) * recordBytes;
}

/** Selects the limit of later calls: 0 for the table's own, otherwise a tier. */
export function useTier(index: i32): void {
  tier = index;
  known = -1;
}

/** Reads the limit if it may have changed since the last call; false if it is invalid. */
export function learnLimit(): bool {
  const live = load32(cell + KEYED_live);
  return live == known || readLimits(live);
}

/** Reads a record. If it is invalid, the previous limit stays in force. */
function readLimits(word: i32): bool {
  let live = word;
  while (true) {
    const record = recordOf(live);
    const limit = record + KEYED_RECORD_limits + (tier as usize) * KEYED_LIMIT_BYTES;
    const origin = readF64(record + KEYED_RECORD_originUs);
    const ticks = readI64(record + KEYED_RECORD_originTicks);
    const speed = readF64(record + KEYED_RECORD_ticksPerMicro);
    const most = readI64(record + KEYED_RECORD_mostTicks);
    const burst = readF64(limit + KEYED_LIMIT_burst);
    const perToken = readF64(limit + KEYED_LIMIT_ticksPerToken);
    const fill = readF64(limit + KEYED_LIMIT_fillTicks);
    const again = load32(cell + KEYED_live);
    if (again != live) {
      live = again;
      continue;
    }
    const cap = ticksUp(burst, perToken);
    const isSound =
      speed > 0 &&
      speed <= TABLE_SPEED_most &&
      burst > 0 &&
      isWhole(perToken) &&
      isWhole(fill) &&
      origin - origin == 0 &&
      (cap as u64) <= (most as u64) &&
      (most as u64) <= (MAX_SPAN_TICKS as u64);
    if (!isSound) return false;
    setLimit(burst, perToken, speed, fill, cap, origin);
    originTicks = ticks;
    mostTicks = most;
    known = live;
    return true;
  }
}
