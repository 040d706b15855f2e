import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { WINDOW_OUTCOME } from '../constants.ts';
import type { Opened } from '../open.ts';
import { damagedWord } from './cell.ts';
import { openWindows, type WindowEngine } from './engine.ts';
import { HostedWindow } from './host.ts';
import type { ClockReader, WindowKernel } from './kernel.ts';
import type { Change } from './limit.ts';
import type { WindowRecord } from './record.ts';
import { intervalTicksOf } from './time.ts';

/** A sliding log on the engine. */
export class HostedSlidingLog extends HostedWindow {
  #live!: WindowRecord & { readonly intervalTicks: number }; // set by refresh() in the constructor

  constructor(opened: Opened<WindowEngine>, place: CellPlace) {
    super(opened, place);
    this.refresh();
  }

  protected override get record(): WindowRecord {
    return this.#live;
  }

  protected override adopt(record: WindowRecord): void {
    this.#live = { ...record, intervalTicks: intervalTicksOf(record.intervalMs) };
  }

  protected override attempt(
    least: number,
    most: number,
    clock: ClockReader,
    survey: boolean,
  ): number {
    const { engine, seen } = this;
    for (;;) {
      // Read before the word: the clock may call this limiter, which may adopt another record.
      const live = this.#live;
      seen.lookThenRead(clock);
      const taken = engine.logTakeAt(
        this.cell,
        live.generation,
        live.limit,
        this.bounds.maxLimit,
        live.bits,
        live.intervalTicks,
        live.originTicks,
        seen.low,
        seen.high,
        clock.us,
        least,
        most,
        survey,
      );
      this.countRaces();
      if (taken >= 0) return this.conclude(taken, survey);
      if (taken === WINDOW_OUTCOME.changed) this.refresh();
      if (taken === WINDOW_OUTCOME.damaged) throw damagedWord();
    }
  }

  /** Cannot cancel: the admission overwrote older times, so its tokens lapse. */
  override cancel(): boolean {
    return false;
  }

  protected override change({ limit, intervalMs }: Change, clock: ClockReader): number {
    const live = this.#live;
    this.seen.lookThenRead(clock);
    return this.engine.logReconfigureAt(
      this.cell,
      live.generation,
      live.limit,
      this.bounds.maxLimit,
      live.bits,
      live.intervalTicks,
      live.originTicks,
      this.seen.low,
      this.seen.high,
      clock.us,
      limit,
      intervalMs,
    );
  }
}

export function openSlidingLog(place: CellPlace, asked: KernelName | undefined): WindowKernel {
  return new HostedSlidingLog(openWindows(place.region, asked), place);
}
