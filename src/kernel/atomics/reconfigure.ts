import type { CellPlace } from '../../memory/cell.ts';
import { BUCKET, CELL, INDEX_BITS, INDEX_MASK, RECORD_COUNT } from '../../memory/layout.ts';
import {
  beforeAt,
  type ConfigRecord,
  endTenure,
  exchangeZeroTime,
  type LiveRecord,
  liveRecord,
  nextGeneration,
  noRecordFree,
  originOf,
  ticksAt,
  writeRecord,
} from '../bucket/record.ts';
import { floorDivide, type Schedule } from '../bucket/schedule.ts';
import { CLAIM_ATTEMPTS, MAX_SPAN_TICKS, SAME_INTERVAL } from '../bucket/ticks.ts';

/** Takes a record that nobody uses: the next free one after the live one, so that each rests long. */
function claimRecord(place: CellPlace, attempts: number): number {
  const { i32, i64 } = place.region;
  const claimsAt = (place.offset + BUCKET.claims) >> 2;
  for (let attempt = 0; attempt < attempts; attempt++) {
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
  throw noRecordFree();
}

function releaseRecord(place: CellPlace, index: number): void {
  Atomics.and(place.region.i32, (place.offset + BUCKET.claims) >> 2, ~(1 << index));
}

/** What the bucket holds, in ticks; more than its capacity if it has idled for longer. */
function heldTicks({ word, schedule, originUs }: LiveRecord, nowUs: number): bigint {
  return BigInt(ticksAt(schedule, originUs, nowUs)) - (word >> BigInt(INDEX_BITS));
}

/** The tokens of the old bucket, in ticks of the next one. */
function keptTicks(old: LiveRecord, nowUs: number, next: Schedule): bigint {
  const { ticksPerToken, capTicks } = old.schedule;
  // An unlimited bucket is always full.
  if (ticksPerToken === 0) return next.capTicks;
  const held = heldTicks(old, nowUs);
  const capped = held < capTicks ? held : capTicks;
  const kept = floorDivide(capped * BigInt(next.ticksPerToken), BigInt(ticksPerToken));
  return kept < next.capTicks ? kept : next.capTicks;
}

/** Where the fills of the next schedule lie: they go on as before if the interval stays the same. */
function gridOf(next: Schedule, old: ConfigRecord, nowUs: number): number {
  const { fillTicks, ticksPerMicro } = old.schedule;
  const before = fillTicks / ticksPerMicro;
  const after = next.fillTicks / next.ticksPerMicro;
  if (after === 0 || Math.abs(after - before) > before * SAME_INTERVAL) return nowUs;
  return old.originUs + ticksAt(old.schedule, old.originUs, nowUs) / ticksPerMicro;
}

const MOST_TICKS = BigInt(MAX_SPAN_TICKS);

/** Both ways: a longer debt is forgiven, and longer idling makes nothing fuller. */
function withinSpan(ticks: bigint): bigint {
  if (ticks > MOST_TICKS) return MOST_TICKS;
  return ticks < -MOST_TICKS ? -MOST_TICKS : ticks;
}

/**
 * Makes a new record live: claims a free one, fills it, publishes it with one compare-and-exchange
 * on the word that also carries the tokens over, and frees the record before it. `carry` says what
 * the bucket holds then, in ticks of `next`; if it returns undefined, nothing is done.
 */
function publish(
  place: CellPlace,
  nowUs: number,
  next: Schedule,
  attempts: number,
  carry: (old: LiveRecord) => bigint | undefined,
): void {
  const index = claimRecord(place, attempts);
  let unused = index;
  try {
    let old = liveRecord(place);
    const generation = nextGeneration(place);
    const originUs = originOf(next, gridOf(next, old, nowUs), generation);
    writeRecord(place, index, { generation, schedule: next, originUs });
    const nowTicks = BigInt(ticksAt(next, originUs, nowUs));
    for (;;) {
      const held = carry(old);
      if (held === undefined) return;
      Atomics.store(place.region.i32, beforeAt(place, index), old.generation);
      // Before the exchange: should this thread be terminated in between, nobody has missed anything.
      endTenure(place, old.index);
      if (exchangeZeroTime(place, old.word, nowTicks - withinSpan(held), index)) break;
      old = liveRecord(place);
    }
    unused = old.index;
  } finally {
    releaseRecord(place, unused);
  }
}

/**
 * Puts `next` in force. Every call of any thread sees the limit before or the limit after.
 *
 * @throws RateLimitError `ERR_RECONFIGURE_BUSY`
 */
export function reconfigure(place: CellPlace, nowUs: number, next: Schedule): void {
  publish(place, nowUs, next, CLAIM_ATTEMPTS, (old) => keptTicks(old, nowUs, next));
}

/**
 * Moves the origin of the record of this generation up to now, unless it is no longer live. Nothing
 * changes by that, not even for a thread whose clock reading is old: hence no cap on what is held.
 *
 * @throws RateLimitError `ERR_RECONFIGURE_BUSY`
 */
export function renew(place: CellPlace, nowUs: number, record: ConfigRecord): void {
  const { generation, schedule } = record;
  // Few attempts: a call that finds no record free goes on without, and the next one tries again.
  publish(place, nowUs, schedule, RECORD_COUNT, (old) =>
    old.generation === generation ? heldTicks(old, nowUs) : undefined,
  );
}
