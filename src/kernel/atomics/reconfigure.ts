import { RateLimitError } from '../../errors.ts';
import { CELL, INDEX_BITS, INDEX_MASK, RECORD_COUNT } from '../../memory/layout.ts';
import {
  type CellPlace,
  type ConfigRecord,
  liveRecord,
  nextGeneration,
  originOf,
  ticksAt,
  writeRecord,
} from '../config-record.ts';
import { MAX_SPAN_TICKS, type Schedule } from '../schedule.ts';

/** A claim takes microseconds; looking so often outlasts a claimant that has lost its time slice. */
const CLAIM_ATTEMPTS = 1_000_000;

/** Takes a record that nobody uses: the next free one after the live one, so that each rests long. */
function claimRecord(place: CellPlace): number {
  const { i32, i64 } = place.region;
  const claimsAt = (place.offset + CELL.claims) >> 2;
  for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt++) {
    const claims = Atomics.load(i32, claimsAt);
    const live = Number(
      BigInt.asUintN(INDEX_BITS, Atomics.load(i64, (place.offset + CELL.word) >> 3)),
    );
    for (let step = 1; step < RECORD_COUNT; step++) {
      const index = (live + step) & INDEX_MASK;
      const bit = 1 << index;
      if ((claims & bit) !== 0) continue;
      if (Atomics.compareExchange(i32, claimsAt, claims, claims | bit) === claims) return index;
      break;
    }
  }
  throw new RateLimitError(
    'ERR_RECONFIGURE_BUSY',
    `all ${RECORD_COUNT} configuration records are claimed; the limit in force stays`,
  );
}

function releaseRecord(place: CellPlace, index: number): void {
  Atomics.and(place.region.i32, (place.offset + CELL.claims) >> 2, ~(1 << index));
}

/** Rounds towards fewer tokens, also in debt: a reconfiguration never mints. */
function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}

/** The tokens of the old bucket, in ticks of the next one. */
function keptTicks(zeroTime: bigint, old: ConfigRecord, nowUs: number, next: Schedule): bigint {
  const { schedule } = old;
  // An unlimited bucket is always full.
  if (schedule.ticksPerToken === 0) return next.capTicks;
  const held = BigInt(ticksAt(schedule, old.originUs, nowUs)) - zeroTime;
  const capped = held < schedule.capTicks ? held : schedule.capTicks;
  const kept = floorDivide(capped * BigInt(next.ticksPerToken), BigInt(schedule.ticksPerToken));
  if (kept > next.capTicks) return next.capTicks;
  const deepest = -BigInt(MAX_SPAN_TICKS);
  return kept < deepest ? deepest : kept;
}

/** Intervals that differ by less are the same one: each was divided from ticks, and so rounded. */
const SAME_INTERVAL = 2 ** -40;

/** Where the fills of the next schedule lie: they go on as before if the interval stays the same. */
function gridOf(next: Schedule, old: ConfigRecord, nowUs: number): number {
  const { fillTicks, ticksPerMicro } = old.schedule;
  const before = fillTicks / ticksPerMicro;
  const after = next.fillTicks / next.ticksPerMicro;
  if (after === 0 || Math.abs(after - before) > before * SAME_INTERVAL) return nowUs;
  return old.originUs + ticksAt(old.schedule, old.originUs, nowUs) / ticksPerMicro;
}

/**
 * Puts `next` in force: claims a free record, fills it, publishes it with one compare-and-exchange
 * on the word that also carries tokens and debt over, and frees the record before it. Every call
 * of any thread sees the limit before or the limit after.
 *
 * With `only`, nothing is done if the record of that generation is no longer live.
 *
 * @throws RateLimitError `ERR_RECONFIGURE_BUSY`
 */
export function reconfigure(place: CellPlace, nowUs: number, next: Schedule, only?: number): void {
  const { i64 } = place.region;
  const wordAt = (place.offset + CELL.word) >> 3;
  const index = claimRecord(place);
  let unused = index;
  try {
    let old = liveRecord(place);
    const generation = nextGeneration(place);
    const originUs = originOf(next, gridOf(next, old, nowUs), generation);
    writeRecord(place, index, { generation, schedule: next, originUs });
    const nowTicks = BigInt(ticksAt(next, originUs, nowUs));
    for (;;) {
      if (only !== undefined && old.generation !== only) return;
      const zeroTime = nowTicks - keptTicks(old.word >> BigInt(INDEX_BITS), old, nowUs, next);
      const word = (zeroTime << BigInt(INDEX_BITS)) | BigInt(index);
      if (Atomics.compareExchange(i64, wordAt, old.word, word) === old.word) break;
      old = liveRecord(place);
    }
    unused = old.index;
  } finally {
    releaseRecord(place, unused);
  }
}
