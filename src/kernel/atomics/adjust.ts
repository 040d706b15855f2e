import type { CellPlace } from '../../memory/cell.ts';
import { CELL, INDEX_BITS } from '../../memory/layout.ts';
import { type LiveRecord, ticksAt } from '../config-record.ts';
import { ticksOf } from '../schedule.ts';

// Changes off the hot path, in BigInt. Each takes the word and record that were seen, and does
// nothing if the word has changed since.

/** What the bucket holds, in ticks; negative in debt. */
function heldTicks(live: LiveRecord, nowTicks: bigint): bigint {
  const held = nowTicks - (live.word >> BigInt(INDEX_BITS));
  return held < live.schedule.capTicks ? held : live.schedule.capTicks;
}

/** Writes a zero-time, unless the word has changed. */
function settle(place: CellPlace, live: LiveRecord, zeroTime: bigint): boolean {
  const word = BigInt.asIntN(64, (zeroTime << BigInt(INDEX_BITS)) | BigInt(live.index));
  const wordAt = (place.offset + CELL.word) >> 3;
  return Atomics.compareExchange(place.region.i64, wordAt, live.word, word) === live.word;
}

/**
 * Takes as many whole tokens as there were, at most `most`, and returns them; undefined if the word
 * has changed.
 */
export function takeWhole(
  place: CellPlace,
  live: LiveRecord,
  nowUs: number,
  most: number,
): number | undefined {
  const { schedule, originUs } = live;
  const nowTicks = BigInt(ticksAt(schedule, originUs, nowUs));
  const held = heldTicks(live, nowTicks);
  const taken = Math.min(most, Number(held / BigInt(schedule.ticksPerToken)));
  if (taken <= 0) return 0;
  const left = held - ticksOf(taken, schedule.ticksPerToken, Math.ceil);
  return settle(place, live, nowTicks - left) ? taken : undefined;
}

/** Gives tokens back. A fraction of a tick is not, so that giving back never mints. */
export function giveBack(
  place: CellPlace,
  live: LiveRecord,
  nowUs: number,
  tokens: number,
): boolean {
  const { schedule, originUs } = live;
  const nowTicks = BigInt(ticksAt(schedule, originUs, nowUs));
  const held = heldTicks(live, nowTicks) + ticksOf(tokens, schedule.ticksPerToken, Math.floor);
  const left = held < schedule.capTicks ? held : schedule.capTicks;
  return settle(place, live, nowTicks - left);
}
