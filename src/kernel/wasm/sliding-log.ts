import type { CellPlace } from '../../memory/cell.ts';
import { damagedWord, readWindow } from '../window/cell.ts';
import type { ClockReader } from '../window/kernel.ts';
import { countBitsOf } from '../window/limit.ts';
import { WINDOW_OUTCOME } from '../window/outcome.ts';
import { intervalTicksOf } from '../window/time.ts';
import { WasmWindow, type WasmWindows } from './window.ts';

/** The compiled kernel of sliding logs. */
export class WasmSlidingLog extends WasmWindow {
  readonly #bits: number;
  readonly #intervalTicks: number;
  readonly #originTicks: number;

  constructor(kernel: WasmWindows, place: CellPlace) {
    const { limit, intervalMs, originTicks } = readWindow(place);
    super(kernel, place, limit);
    this.#bits = countBitsOf(limit);
    this.#intervalTicks = intervalTicksOf(intervalMs);
    this.#originTicks = originTicks;
  }

  protected override attempt(
    least: number,
    most: number,
    clock: ClockReader,
    survey: boolean,
  ): number {
    const { kernel, seen } = this;
    for (;;) {
      seen.lookThenRead(clock);
      const taken = kernel.logTakeAt(
        this.cell,
        this.limit,
        this.#bits,
        this.#intervalTicks,
        this.#originTicks,
        seen.low,
        seen.high,
        clock.us,
        least,
        most,
        survey,
      );
      this.countRaces();
      if (taken >= 0) return this.conclude(taken, least, survey);
      if (taken === WINDOW_OUTCOME.damaged) throw damagedWord();
    }
  }

  /** The times that the admission wrote over are gone, so its tokens lapse. */
  override cancel(): boolean {
    return false;
  }
}
