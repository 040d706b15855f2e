import type { CellPlace } from '../../memory/cell.ts';
import { INDEX_BITS } from '../../memory/layout.ts';
import { exchangeZeroTime, type LiveRecord, ticksAt } from '../bucket/record.ts';
import { ticksOf } from '../bucket/schedule.ts';

// Changes off the hot path, in BigInt. Each takes the word and record that were seen, and does
// nothing if the word has changed since.

/** What the bucket holds, in ticks; negative in debt. */
function heldTicks(live: LiveRecord, nowTicks: bigint): bigint {
  const held = nowTicks - (live.word >> BigInt(INDEX_BITS));
  return held < live.schedule.capTicks ? held : live.schedule.capTicks;
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
  return exchangeZeroTime(place, live.word, nowTicks - left, live.index) ? taken : undefined;
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
  return exchangeZeroTime(place, live.word, nowTicks - left, live.index);
}
