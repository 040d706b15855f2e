import type { KernelName } from '../../memory/handle.ts';
import type { Region } from '../../memory/region.ts';
import type { EngineResults } from '../bucket/engine.ts';
import { window as build } from '../build/modules.ts';
import { EngineModule, type Opened } from '../open.ts';

/** A window or log: its kind as a number, and the entries of its ring. */
type Window = [cell: number, kind: number, places: number];
/** The least and most tokens to take, and whether to report the state afterwards. */
type Asked = [least: number, most: number, survey: boolean];
/** The halves of a word. */
type Word = [low: number, high: number];

/**
 * The engine's operations on windows and logs. The clock may throw, or call a limiter on the same
 * instance, so the host reads it between calls.
 */
export interface WindowEngine
  extends Pick<EngineResults, 'lostRaces' | 'receiptLow' | 'receiptHigh'> {
  /** Takes tokens without the clock. */
  fixedTake(cell: number, tokens: number): number;
  /** `kept` is the sum of the kept slots of a sliding window, for the slot `keptFor`. */
  windowTakeAt(
    ...call: [...Window, nowUs: number, ...Asked, object: number, keptFor: number, kept: number]
  ): number;
  windowReturnAt(
    ...call: [cell: number, kind: number, nowUs: number, tokens: number, ...Word]
  ): number;
  windowReconfigureAt(
    ...call: [...Window, nowUs: number, generation: number, limit: number, intervalMs: number]
  ): number;
  windowCancel(cell: number, kind: number, low: number, high: number, cost: number): number;

  /** The sum of the kept slots for the head that the last call met. */
  slidingKept(cell: number, slots: number): number;
  /** The slot for which it was computed. */
  slidingKeptSlot(): number;

  sometimesDue(cell: number): number;
  sometimesDueAt(cell: number, nowUs: number): number;

  /** Loads the word before the clock is read, and returns its low half. */
  windowLook(cell: number): number;
  /** The high half of that word. */
  windowSeenHigh(): number;
  /** Hands that word to the next call, after the clock was read. */
  windowRecall(cell: number, low: number, high: number, nowUs: number): void;

  // After an admission.
  windowPlaceLow(): number;
  windowPlaceHigh(): number;

  // After a refusal or a survey.
  windowLimit(): number;
  windowWaitUs(): number;
  windowLeft(): number;
  windowFullUs(): number;
  windowNextUs(): number;

  /** Forgets the words read so far. */
  leaveRegion(): void;
}

const windows = /* @__PURE__ */ new EngineModule<WindowEngine>(build);

/** The engine for a region's windows, logs and `Sometimes`. */
export function openWindows(region: Region, asked: KernelName | undefined): Opened<WindowEngine> {
  return windows.openShared(region, asked);
}
