import type { KernelName } from '../../memory/handle.ts';
import type { Region } from '../../memory/region.ts';
import type { EngineResults } from '../bucket/engine.ts';
import { window as build } from '../build/modules.ts';
import { EngineModule, type Opened } from '../open.ts';

/**
 * The engine's operations on windows and logs. The clock may throw or call a limiter on the same
 * instance, so the host reads it between calls. The host passes the configuration it validated.
 */
export interface WindowEngine
  extends Pick<EngineResults, 'lostRaces' | 'receiptLow' | 'receiptHigh'> {
  fixedTake(cell: number, generation: number, limit: number, bits: number, tokens: number): number;
  fixedTakeAt(
    cell: number,
    generation: number,
    limit: number,
    bits: number,
    unitTicks: number,
    intervalUnits: number,
    originTicks: number,
    opensFull: boolean,
    low: number,
    high: number,
    nowUs: number,
    least: number,
    most: number,
    survey: boolean,
  ): number;
  fixedReturnAt(
    cell: number,
    generation: number,
    bits: number,
    unitTicks: number,
    intervalUnits: number,
    originTicks: number,
    low: number,
    high: number,
    nowUs: number,
    tokens: number,
  ): number;
  fixedReconfigureAt(
    cell: number,
    generation: number,
    bits: number,
    unitTicks: number,
    intervalUnits: number,
    originTicks: number,
    opensFull: boolean,
    low: number,
    high: number,
    nowUs: number,
    newLimit: number,
    newIntervalMs: number,
  ): number;

  slidingTakeAt(
    cell: number,
    generation: number,
    limit: number,
    bits: number,
    slots: number,
    slotTicks: number,
    originTicks: number,
    first: number,
    shift: number,
    low: number,
    high: number,
    nowUs: number,
    keptFor: number,
    kept: number,
    least: number,
    most: number,
    survey: boolean,
  ): number;
  slidingAddUp(
    cell: number,
    bits: number,
    slots: number,
    shift: number,
    low: number,
    high: number,
  ): number;
  slidingKept(): number;
  slidingReturnAt(
    cell: number,
    generation: number,
    bits: number,
    slotTicks: number,
    originTicks: number,
    first: number,
    low: number,
    high: number,
    nowUs: number,
    tokens: number,
  ): number;
  slidingReconfigureAt(
    cell: number,
    generation: number,
    bits: number,
    slots: number,
    slotTicks: number,
    originTicks: number,
    first: number,
    shift: number,
    low: number,
    high: number,
    nowUs: number,
    keptFor: number,
    kept: number,
    newLimit: number,
    newIntervalMs: number,
    newSlotTicks: number,
  ): number;

  logTakeAt(
    cell: number,
    generation: number,
    limit: number,
    places: number,
    bits: number,
    intervalTicks: number,
    originTicks: number,
    low: number,
    high: number,
    nowUs: number,
    least: number,
    most: number,
    survey: boolean,
  ): number;
  logReconfigureAt(
    cell: number,
    generation: number,
    limit: number,
    places: number,
    bits: number,
    intervalTicks: number,
    originTicks: number,
    low: number,
    high: number,
    nowUs: number,
    newLimit: number,
    newIntervalMs: number,
  ): number;

  sometimesDue(cell: number, first: number, every: number, bits: number): number;
  sometimesDueAt(
    cell: number,
    first: number,
    every: number,
    bits: number,
    unitTicks: number,
    intervalUnits: number,
    originTicks: number,
    low: number,
    high: number,
    nowUs: number,
  ): number;

  /** Loads the word before the clock is read, and returns its low half. */
  windowLook(cell: number): number;
  /** The halves of that word, or of the word that {@link fixedTake} loaded. */
  windowSeenLow(): number;
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
