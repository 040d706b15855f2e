import type { CellPlace } from '../../memory/cell.ts';
import type { ClockReader, SometimesKernel } from '../window/kernel.ts';
import { callBitsOf, occasionUnits, readOccasions } from '../window/sometimes-cell.ts';
import { SeenWord, type WasmWindows } from './window.ts';

/** The compiled kernel of `Sometimes`. */
export class WasmSometimes implements SometimesKernel {
  readonly name = 'wasm';
  readonly #kernel: WasmWindows;
  readonly #cell: number;
  readonly #seen: SeenWord;
  readonly #first: number;
  readonly #every: number;
  readonly #bits: number;
  readonly #unitTicks: number;
  readonly #intervalUnits: number;
  readonly #originTicks: number;

  constructor(kernel: WasmWindows, place: CellPlace) {
    const { originTicks, ...occasions } = readOccasions(place);
    this.#kernel = kernel;
    this.#cell = place.offset;
    this.#seen = new SeenWord(kernel, place.offset);
    this.#first = occasions.first;
    this.#every = occasions.every;
    this.#bits = callBitsOf(occasions);
    const { unitTicks, intervalUnits } = occasionUnits(occasions);
    this.#unitTicks = unitTicks;
    this.#intervalUnits = intervalUnits;
    this.#originTicks = originTicks;
  }

  isDue(clock: ClockReader): boolean {
    if (this.#intervalUnits === 0) {
      return this.#kernel.sometimesDue(this.#cell, this.#first, this.#every, this.#bits) !== 0;
    }
    for (;;) {
      const due = this.#attempt(clock);
      if (due >= 0) return due !== 0;
    }
  }

  #attempt(clock: ClockReader): number {
    this.#seen.lookThenRead(clock);
    return this.#kernel.sometimesDueAt(
      this.#cell,
      this.#first,
      this.#every,
      this.#bits,
      this.#unitTicks,
      this.#intervalUnits,
      this.#originTicks,
      this.#seen.low,
      this.#seen.high,
      clock.us,
    );
  }
}
