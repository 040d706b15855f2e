import { exchange32, load32, writeF64, writeI64 } from '../accesses';
import { ticksUp } from '../arithmetic';
import { claimAfter, NONE, release } from '../claim';
import {
  BUSY,
  CLAIM_ATTEMPTS,
  INDEX_MASK,
  KEYED_claims,
  KEYED_LIMIT_burst,
  KEYED_LIMIT_BYTES,
  KEYED_LIMIT_fillTicks,
  KEYED_LIMIT_pace,
  KEYED_LIMIT_ticksPerToken,
  KEYED_live,
  KEYED_RECORD_limits,
  KEYED_RECORD_mostTicks,
  KEYED_RECORD_originTicks,
  KEYED_RECORD_originUs,
  KEYED_RECORD_ticksPerMicro,
  LIVE_VERSION_MASK,
  RECORD_COUNT,
} from '../constants';
import { learnLimit, originTicks, recordOf } from './limits';
import { nowTicks, setInstant } from './state';
import { originUs, ticksPerMicro } from '../bucket/limit';

// Changes the limits of a table: fills a record that no word names, then exchanges the live word.

let table: usize = 0;
/** The claimed record. */
let place: i32 = 0;
let most: i64 = 0;

export function openChanges(cell: usize): void {
  table = cell;
}

/** Claims a record that the live word does not name; NONE if none is free. */
function claim(): i32 {
  for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt++) {
    const index = claimAfter(load32(table + KEYED_live), table + KEYED_claims);
    if (index == NONE) continue;
    if ((load32(table + KEYED_live) & INDEX_MASK) != index) return index;
    release(table + KEYED_claims, index);
  }
  return NONE;
}

/** Claims a record for new limits; returns 0 or BUSY. */
export function beginChange(): f64 {
  place = claim();
  most = 0;
  return place == NONE ? BUSY : 0;
}

/** Writes a limit into the claimed record: the table's own, then the tiers', in order. */
export function putLimit(tier: i32, pace: f64, burst: f64, perToken: f64, fill: f64): void {
  const at = recordOf(place) + KEYED_RECORD_limits + (tier as usize) * KEYED_LIMIT_BYTES;
  writeF64(at + KEYED_LIMIT_pace, pace);
  writeF64(at + KEYED_LIMIT_burst, burst);
  writeF64(at + KEYED_LIMIT_ticksPerToken, perToken);
  writeF64(at + KEYED_LIMIT_fillTicks, fill);
  most = max(most, ticksUp(burst, perToken));
}

/**
 * Makes the claimed record live and frees the previous one, if `live` is still the live word.
 * Otherwise frees the claimed record and returns false. The table's clock continues from its tick
 * at this instant.
 */
export function publishChange(live: i32, nowUs: f64, speed: f64): bool {
  learnLimit();
  const record = recordOf(place);
  const keeps = speed == ticksPerMicro;
  setInstant(nowUs);
  writeF64(record + KEYED_RECORD_originUs, keeps ? originUs : nowUs);
  writeI64(record + KEYED_RECORD_originTicks, keeps ? originTicks : nowTicks);
  writeF64(record + KEYED_RECORD_ticksPerMicro, speed);
  writeI64(record + KEYED_RECORD_mostTicks, most);
  const next = ((live + RECORD_COUNT) & LIVE_VERSION_MASK) | place;
  const isLive = exchange32(table + KEYED_live, live, next) == live;
  release(table + KEYED_claims, place);
  return isLive;
}
