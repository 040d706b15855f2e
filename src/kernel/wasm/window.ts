import type { CellPlace } from '../../memory/cell.ts';
import type { Receipt } from '../bucket/kernel.ts';
import type { ClockReader } from '../window/kernel.ts';
import { WindowOperations } from '../window/operations.ts';

/**
 * What the module exports for windows and logs. The clock is the user's own code: it may throw, or
 * call a limiter that uses the same instance. So it is read here, between two calls: a word is looked
 * at, then the clock is read, and then both are handed over, the word in halves: a BigInt would have
 * to be put on the heap.
 * What a limiter is made with is handed over too: what lies in memory may have changed since it was
 * checked.
 */
export interface WasmWindows {
  fixedTake(cell: number, limit: number, bits: number, tokens: number): number;
  fixedTakeAt(
    cell: number,
    limit: number,
    bits: number,
    unitTicks: number,
    intervalUnits: number,
    originTicks: number,
    low: number,
    high: number,
    nowUs: number,
    least: number,
    most: number,
    survey: boolean,
  ): number;

  slidingTakeAt(
    cell: number,
    limit: number,
    bits: number,
    slots: number,
    slotTicks: number,
    originTicks: number,
    low: number,
    high: number,
    nowUs: number,
    keptFor: number,
    kept: number,
    least: number,
    most: number,
    survey: boolean,
  ): number;
  slidingAddUp(cell: number, bits: number, slots: number, low: number, high: number): number;
  slidingKept(): number;

  logTakeAt(
    cell: number,
    limit: number,
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

  /** Loads a word and returns its low half. */
  windowLook(cell: number): number;
  windowLookHigh(): number;

  // What the last call on a window or a log left.
  windowWord(): bigint;
  windowWaitUs(): number;
  windowLeft(): number;
  windowFullUs(): number;
  windowRacesLost(): number;
}

/** A word that is looked at before the clock is read. */
export class SeenWord {
  readonly #kernel: WasmWindows;
  readonly #cell: number;
  low = 0;
  high = 0;

  constructor(kernel: WasmWindows, cell: number) {
    this.#kernel = kernel;
    this.#cell = cell;
  }

  /** Looks at the word, then reads the clock. */
  lookThenRead(clock: ClockReader): void {
    const low = this.#kernel.windowLook(this.#cell);
    const high = this.#kernel.windowLookHigh();
    clock.read();
    // After the clock, which may have called this limiter.
    this.low = low;
    this.high = high;
  }
}

/** What the compiled kernels of windows and logs have in common. */
export abstract class WasmWindow extends WindowOperations {
  readonly name = 'wasm';
  protected readonly kernel: WasmWindows;
  protected readonly cell: number;
  protected readonly seen: SeenWord;

  protected constructor(kernel: WasmWindows, place: CellPlace, limit: number) {
    super(place, limit);
    this.kernel = kernel;
    this.cell = place.offset;
    this.seen = new SeenWord(kernel, place.offset);
  }

  /** The word that the last attempt wrote is left in the module, where it costs nothing. */
  override receipt(): Receipt {
    return { word: this.kernel.windowWord(), cost: BigInt(this.taken) };
  }

  /** Adds what the last call lost. */
  protected countRaces(): void {
    if (this.counters !== undefined) this.lostRaces += this.kernel.windowRacesLost();
  }

  /** Fetches what the last call has left, and returns what it has taken. */
  protected conclude(taken: number, least: number, survey: boolean): number {
    this.taken = taken;
    if (survey || taken < least) this.waitUs = this.kernel.windowWaitUs();
    if (survey) {
      this.balance = this.kernel.windowLeft();
      this.fullUs = this.kernel.windowFullUs();
    }
    return taken;
  }
}
