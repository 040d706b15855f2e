import type { KernelName } from '../../memory/handle.ts';
import type { Region } from '../../memory/region.ts';
import type { EngineResults } from '../bucket/engine.ts';
import { window as build } from '../build/modules.ts';
import { EngineModule, type Opened } from '../open.ts';

/** The cell, and the record that the host has read. */
type Live = [cell: number, generation: number];
/** The halves of the word that was loaded before the clock was read, and that reading. */
type Seen = [low: number, high: number, nowUs: number];
/** The least and most tokens to take, and whether to report the state afterwards. */
type Asked = [least: number, most: number, survey: boolean];
type NewLimit = [limit: number, intervalMs: number];
/** The windows of a record, in units of `unitTicks`. */
type Units = [unitTicks: number, intervalUnits: number, originTicks: number];
type Slots = [slotTicks: number, originTicks: number, first: number];
/** The sum of the kept slots, and the slot for which it was computed. */
type Kept = [keptFor: number, kept: number];
type Log = [...Live, limit: number, places: number, bits: number, ticks: number, origin: number];

/**
 * The engine's operations on windows and logs. The clock may throw, or call a limiter on the same
 * instance, so the host reads it between calls. The host passes the checked configuration.
 */
export interface WindowEngine
  extends Pick<EngineResults, 'lostRaces' | 'receiptLow' | 'receiptHigh'> {
  fixedTake(...call: [...Live, limit: number, bits: number, tokens: number]): number;
  fixedTakeAt(
    ...call: [...Live, limit: number, bits: number, ...Units, full: boolean, ...Seen, ...Asked]
  ): number;
  fixedReturnAt(...call: [...Live, bits: number, ...Units, ...Seen, tokens: number]): number;
  fixedReconfigureAt(
    ...call: [...Live, bits: number, ...Units, full: boolean, ...Seen, ...NewLimit]
  ): number;

  slidingTakeAt(
    ...call: [
      ...[...Live, limit: number, bits: number, slots: number, ...Slots, shift: number],
      ...[...Seen, ...Kept, ...Asked],
    ]
  ): number;
  slidingAddUp(
    ...call: [cell: number, bits: number, slots: number, shift: number, low: number, high: number]
  ): number;
  slidingKept(): number;
  slidingReturnAt(...call: [...Live, bits: number, ...Slots, ...Seen, tokens: number]): number;
  slidingReconfigureAt(
    ...call: [
      ...[...Live, bits: number, slots: number, ...Slots, shift: number],
      ...[...Seen, ...Kept, ...NewLimit, slotTicks: number],
    ]
  ): number;

  logTakeAt(...call: [...Log, ...Seen, ...Asked]): number;
  logReconfigureAt(...call: [...Log, ...Seen, ...NewLimit]): number;

  sometimesDue(cell: number, first: number, every: number, bits: number): number;
  sometimesDueAt(
    ...call: [cell: number, first: number, every: number, bits: number, ...Units, ...Seen]
  ): number;

  /** Loads the word before the clock is read, and returns its low half. */
  windowLook(cell: number): number;
  /** The high half of that word. */
  windowSeenHigh(): number;

  windowCancel(cell: number, low: number, high: number, cost: number, mark: number): number;

  // After a refusal or a survey.
  windowWaitUs(): number;
  windowLeft(): number;
  windowFullUs(): number;
}

const windows = /* @__PURE__ */ new EngineModule<WindowEngine>(build);

/** The engine for a region's windows, logs and `Sometimes`. */
export function openWindows(region: Region, asked: KernelName | undefined): Opened<WindowEngine> {
  return windows.openShared(region, asked);
}
