import type { CellPlace } from '../../memory/cell.ts';
import type { Opened } from '../open.ts';
import { readWindow } from './cell.ts';
import { HostedWindow, type WindowEngine } from './host.ts';
import type { ClockReader } from './kernel.ts';
import { countBitsOf, fixedWindowUnits } from './limit.ts';

/** The compiled kernel of fixed windows. */
export class HostedFixedWindow extends HostedWindow {
  readonly #bits: number;
  readonly #unitTicks: number;
  readonly #intervalUnits: number;
  readonly #originTicks: number;

  constructor(opened: Opened<WindowEngine>, place: CellPlace) {
    const window = readWindow(place);
    super(opened, place, window.limit);
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
        const taken = this.engine.fixedTake(this.cell, this.limit, this.#bits, most);
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
    return this.engine.fixedTakeAt(
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

  /** The mark that a cancellation leaves in the word. */
  protected override get mark(): number {
    return 2 ** this.#bits;
  }
}
