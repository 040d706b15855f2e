import type { CellPlace } from '../../memory/cell.ts';
import type { Receipt } from '../bucket/kernel.ts';
import { readWindow } from '../window/cell.ts';
import type { ClockReader } from '../window/kernel.ts';
import { countBitsOf, fixedWindowUnits } from '../window/limit.ts';
import { WasmWindow, type WasmWindows } from './window.ts';

/** The compiled kernel of fixed windows. */
export class WasmFixedWindow extends WasmWindow {
  readonly #bits: number;
  readonly #unitTicks: number;
  readonly #intervalUnits: number;
  readonly #originTicks: number;

  constructor(kernel: WasmWindows, place: CellPlace) {
    const window = readWindow(place);
    super(kernel, place, window.limit);
    this.#bits = countBitsOf(window.limit);
    const { unitTicks, intervalUnits } = fixedWindowUnits(window);
    this.#unitTicks = unitTicks;
    this.#intervalUnits = intervalUnits;
    this.#originTicks = window.originTicks;
  }

  protected override attempt(
    least: number,
    most: number,
    clock: ClockReader,
    survey: boolean,
  ): number {
    for (;;) {
      if (!survey) {
        const taken = this.kernel.fixedTake(this.cell, this.limit, this.#bits, most);
        this.countRaces();
        if (taken >= 0) return this.conclude(taken, least, survey);
      }
      const taken = this.#takeAt(least, most, clock, survey);
      this.countRaces();
      if (taken >= 0) return this.conclude(taken, least, survey);
    }
  }

  /** Where the clock has a say. */
  #takeAt(least: number, most: number, clock: ClockReader, survey: boolean): number {
    const { seen } = this;
    seen.lookThenRead(clock);
    return this.kernel.fixedTakeAt(
      this.cell,
      this.limit,
      this.#bits,
      this.#unitTicks,
      this.#intervalUnits,
      this.#originTicks,
      seen.low,
      seen.high,
      clock.us,
      least,
      most,
      survey,
    );
  }

  override cancel(receipt: Receipt): boolean {
    return this.cancelMarked(receipt, 2n ** BigInt(this.#bits));
  }
}
