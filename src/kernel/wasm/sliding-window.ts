import type { CellPlace } from '../../memory/cell.ts';
import { readWindow } from '../window/cell.ts';
import type { ClockReader } from '../window/kernel.ts';
import { countBitsOf, slotTicksOf } from '../window/limit.ts';
import { WINDOW_OUTCOME } from '../window/outcome.ts';
import { WasmWindow, type WasmWindows } from './window.ts';

/** The compiled kernel of sliding windows. */
export class WasmSlidingWindow extends WasmWindow {
  readonly #bits: number;
  readonly #slots: number;
  readonly #slotTicks: number;
  readonly #originTicks: number;

  // The kept slots, as this thread added them up when it first saw the head's slot.
  #keptFor = 0;
  #kept = 0;

  constructor(kernel: WasmWindows, place: CellPlace) {
    const window = readWindow(place);
    super(kernel, place, window.limit);
    this.#bits = countBitsOf(window.limit);
    this.#slots = window.slots;
    this.#slotTicks = slotTicksOf(window);
    this.#originTicks = window.originTicks;
  }

  protected override attempt(
    least: number,
    most: number,
    clock: ClockReader,
    survey: boolean,
  ): number {
    const { kernel, cell, seen } = this;
    seen.lookThenRead(clock);
    for (;;) {
      const taken = kernel.slidingTakeAt(
        cell,
        this.limit,
        this.#bits,
        this.#slots,
        this.#slotTicks,
        this.#originTicks,
        seen.low,
        seen.high,
        clock.us,
        this.#keptFor,
        this.#kept,
        least,
        most,
        survey,
      );
      this.countRaces();
      if (taken >= 0) return this.conclude(taken, least, survey);
      if (taken === WINDOW_OUTCOME.newSlot) {
        this.#keptFor = kernel.slidingAddUp(cell, this.#bits, this.#slots, seen.low, seen.high);
        this.#kept = kernel.slidingKept();
      } else {
        seen.lookThenRead(clock);
      }
    }
  }
}
