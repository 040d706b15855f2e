import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { WINDOW_OUTCOME } from '../constants.ts';
import type { Opened } from '../open.ts';
import { readWindow } from './cell.ts';
import { HostedWindow, openWindows, type WindowEngine } from './host.ts';
import type { ClockReader, WindowKernel } from './kernel.ts';
import { countBitsOf, slotTicksOf } from './limit.ts';

/** A sliding window on the engine. */
export class HostedSlidingWindow extends HostedWindow {
  readonly #bits: number;
  readonly #slots: number;
  readonly #slotTicks: number;
  readonly #originTicks: number;

  // The sum of the kept slots, computed when this thread first saw the head's slot.
  #keptFor = 0;
  #kept = 0;

  constructor(opened: Opened<WindowEngine>, place: CellPlace) {
    const window = readWindow(place);
    super(opened, place, window.limit);
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
    const { engine, cell, seen } = this;
    seen.lookThenRead(clock);
    for (;;) {
      const taken = engine.slidingTakeAt(
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
        this.#keptFor = engine.slidingAddUp(cell, this.#bits, this.#slots, seen.low, seen.high);
        this.#kept = engine.slidingKept();
      } else {
        seen.lookThenRead(clock);
      }
    }
  }
}

export function openSlidingWindow(place: CellPlace, asked: KernelName | undefined): WindowKernel {
  return new HostedSlidingWindow(openWindows(place.region, asked), place);
}
