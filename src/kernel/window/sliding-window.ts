import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { WINDOW_OUTCOME } from '../constants.ts';
import type { Opened } from '../open.ts';
import { openWindows, type WindowEngine } from './engine.ts';
import type { ClockReader, RefundableWindowKernel } from './kernel.ts';
import { type Change, slotTicksOf } from './limit.ts';
import type { WindowRecord } from './record.ts';
import { HostedRefundableWindow } from './refundable.ts';

/** A record and the numbers computed from it. */
interface Live extends WindowRecord {
  readonly slotTicks: number;
  /** The number in the head at the record's origin. */
  readonly first: number;
}

/** A sliding window on the engine. */
export class HostedSlidingWindow extends HostedRefundableWindow {
  #live!: Live; // set by refresh() in the constructor

  // The sum of the kept slots, computed when this thread first saw the head's slot.
  #keptFor = 0;
  #kept = 0;

  constructor(opened: Opened<WindowEngine>, place: CellPlace) {
    super(opened, place);
    this.refresh();
  }

  protected override get record(): WindowRecord {
    return this.#live;
  }

  protected override adopt(record: WindowRecord): void {
    const slotTicks = slotTicksOf(record.intervalMs, this.bounds.slots);
    this.#live = { ...record, slotTicks, first: record.firstSlot + record.shift };
    this.identifyBy(record.bits);
  }

  protected override attempt(
    least: number,
    most: number,
    clock: ClockReader,
    survey: boolean,
  ): number {
    const { engine, cell, seen } = this;
    // Read before the word: the clock may call this limiter, which may adopt another record.
    let live = this.#live;
    seen.lookThenRead(clock);
    for (;;) {
      const taken = engine.slidingTakeAt(
        cell,
        live.generation,
        live.limit,
        live.bits,
        this.bounds.slots,
        live.slotTicks,
        live.originTicks,
        live.first,
        live.shift,
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
      if (taken >= 0) {
        if (taken > 0) this.remember(taken, seen.low, seen.high);
        return this.conclude(taken, survey);
      }
      if (taken === WINDOW_OUTCOME.newSlot) {
        this.#addUp(live);
      } else {
        if (taken === WINDOW_OUTCOME.changed) this.refresh();
        live = this.#live;
        seen.lookThenRead(clock);
      }
    }
  }

  #addUp({ bits, shift }: Live): void {
    const { engine, cell, seen } = this;
    this.#keptFor = engine.slidingAddUp(cell, bits, this.bounds.slots, shift, seen.low, seen.high);
    this.#kept = engine.slidingKept();
  }

  protected override giveBack(tokens: number, nowUs: number): number {
    const { generation, bits, slotTicks, originTicks, first } = this.#live;
    return this.engine.slidingReturnAt(
      this.cell,
      generation,
      bits,
      slotTicks,
      originTicks,
      first,
      this.seen.low,
      this.seen.high,
      nowUs,
      tokens,
    );
  }

  protected override change({ limit, intervalMs }: Change, clock: ClockReader): number {
    const { seen } = this;
    const live = this.#live;
    seen.lookThenRead(clock);
    for (;;) {
      const outcome = this.engine.slidingReconfigureAt(
        this.cell,
        live.generation,
        live.bits,
        this.bounds.slots,
        live.slotTicks,
        live.originTicks,
        live.first,
        live.shift,
        seen.low,
        seen.high,
        clock.us,
        this.#keptFor,
        this.#kept,
        limit,
        intervalMs,
        slotTicksOf(intervalMs, this.bounds.slots),
      );
      if (outcome !== WINDOW_OUTCOME.newSlot) return outcome;
      this.#addUp(live);
    }
  }
}

export function openSlidingWindow(
  place: CellPlace,
  asked: KernelName | undefined,
): RefundableWindowKernel {
  return new HostedSlidingWindow(openWindows(place.region, asked), place);
}
