import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import type { Opened } from '../open.ts';
import { readWindow } from './cell.ts';
import { HostedWindow, openWindows, type WindowEngine } from './host.ts';
import type { ClockReader, WindowKernel } from './kernel.ts';
import { countBitsOf, fixedWindowUnits } from './limit.ts';

/** A fixed window on the engine. */
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
    const { engine, seen } = this;
    for (;;) {
      if (survey) {
        seen.lookThenRead(clock);
      } else {
        const taken = engine.fixedTake(this.cell, this.limit, this.#bits, most);
        this.countRaces();
        if (taken >= 0) return this.conclude(taken, least, survey);
        seen.thenRead(clock);
      }
      const taken = this.#takeAt(least, most, clock.us, survey);
      this.countRaces();
      if (taken >= 0) return this.conclude(taken, least, survey);
    }
  }

  /** An attempt that depends on the clock. */
  #takeAt(least: number, most: number, nowUs: number, survey: boolean): number {
    const { seen } = this;
    return this.engine.fixedTakeAt(
      this.cell,
      this.limit,
      this.#bits,
      this.#unitTicks,
      this.#intervalUnits,
      this.#originTicks,
      seen.low,
      seen.high,
      nowUs,
      least,
      most,
      survey,
    );
  }

  /** The mark that a cancellation sets in the word. */
  protected override get mark(): number {
    return 2 ** this.#bits;
  }
}

export function openFixedWindow(place: CellPlace, asked: KernelName | undefined): WindowKernel {
  return new HostedFixedWindow(openWindows(place.region, asked), place);
}
