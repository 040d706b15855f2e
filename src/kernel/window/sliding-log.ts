import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { WINDOW_OUTCOME } from '../constants.ts';
import type { Opened } from '../open.ts';
import { damagedWord, readWindow } from './cell.ts';
import { HostedWindow, openWindows, type WindowEngine } from './host.ts';
import type { ClockReader, WindowKernel } from './kernel.ts';
import { countBitsOf } from './limit.ts';
import { intervalTicksOf } from './time.ts';

/** A sliding log on the engine. */
export class HostedSlidingLog extends HostedWindow {
  readonly #bits: number;
  readonly #intervalTicks: number;
  readonly #originTicks: number;

  constructor(opened: Opened<WindowEngine>, place: CellPlace) {
    const { limit, intervalMs, originTicks } = readWindow(place);
    super(opened, place, limit);
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
    const { engine, seen } = this;
    for (;;) {
      seen.lookThenRead(clock);
      const taken = engine.logTakeAt(
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

  /** The admission overwrote older times, so it cannot be undone and its tokens lapse. */
  override cancel(): boolean {
    return false;
  }
}

export function openSlidingLog(place: CellPlace, asked: KernelName | undefined): WindowKernel {
  return new HostedSlidingLog(openWindows(place.region, asked), place);
}
