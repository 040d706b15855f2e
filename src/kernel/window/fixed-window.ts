import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { INDEX_BITS } from '../../memory/layout.ts';
import { OPENED, WINDOW_OUTCOME } from '../constants.ts';
import type { Opened } from '../open.ts';
import { openWindows, type WindowEngine } from './engine.ts';
import type { ClockReader, RefundableWindowKernel } from './kernel.ts';
import { type Change, fixedWindowUnits } from './limit.ts';
import type { WindowRecord } from './record.ts';
import { HostedRefundableWindow } from './refundable.ts';
import type { TimeUnits } from './time.ts';

/** A record and its time units. */
type Live = WindowRecord & TimeUnits;

/** A fixed window on the engine. */
export class HostedFixedWindow extends HostedRefundableWindow {
  #live!: Live; // set by refresh() in the constructor
  readonly #opensFull: boolean;

  constructor(opened: Opened<WindowEngine>, place: CellPlace) {
    super(opened, place);
    this.#opensFull = this.bounds.allowDoubleBurst;
    this.refresh();
  }

  protected override get record(): WindowRecord {
    return this.#live;
  }

  protected override adopt(record: WindowRecord): void {
    this.#live = { ...record, ...fixedWindowUnits(record.bits, record.intervalMs) };
    this.identifyBy(record.bits);
  }

  protected override attempt(
    least: number,
    most: number,
    clock: ClockReader,
    survey: boolean,
  ): number {
    if (this.#opensFull && !survey) {
      const { generation, limit, bits } = this.#live;
      const taken = this.engine.fixedTake(this.cell, generation, limit, bits, most);
      this.countRaces();
      if (taken >= 0) return this.conclude(taken, survey);
    }
    for (;;) {
      const taken = this.#attemptAt(least, most, clock, survey);
      this.countRaces();
      if (taken >= 0) return this.conclude(taken, survey);
      if (taken === WINDOW_OUTCOME.changed) this.refresh();
    }
  }

  #attemptAt(least: number, most: number, clock: ClockReader, survey: boolean): number {
    const { engine, seen } = this;
    // Read before the word: the clock may call this limiter, which may adopt another record.
    const live = this.#live;
    seen.lookThenRead(clock);
    const taken = engine.fixedTakeAt(
      this.cell,
      live.generation,
      live.limit,
      live.bits,
      live.unitTicks,
      live.intervalUnits,
      live.originTicks,
      this.#opensFull,
      seen.low,
      seen.high,
      clock.us,
      least,
      most,
      survey,
    );
    if (taken <= 0 || this.#opensFull) return taken >= OPENED ? taken - OPENED : taken;
    if (taken < OPENED) {
      this.remember(taken, seen.low, seen.high);
      return taken;
    }
    this.remember(taken - OPENED, engine.receiptLow(), engine.receiptHigh());
    return taken - OPENED;
  }

  protected override giveBack(tokens: number, nowUs: number): number {
    const { generation, bits, unitTicks, intervalUnits, originTicks } = this.#live;
    return this.engine.fixedReturnAt(
      this.cell,
      generation,
      bits,
      unitTicks,
      intervalUnits,
      originTicks,
      this.seen.low,
      this.seen.high,
      nowUs,
      tokens,
    );
  }

  protected override change({ limit, intervalMs }: Change, clock: ClockReader): number {
    const live = this.#live;
    this.seen.lookThenRead(clock);
    return this.engine.fixedReconfigureAt(
      this.cell,
      live.generation,
      live.bits,
      live.unitTicks,
      live.intervalUnits,
      live.originTicks,
      this.#opensFull,
      this.seen.low,
      this.seen.high,
      clock.us,
      limit,
      intervalMs,
    );
  }

  /** Set with `allowDoubleBurst`: later admissions of this window then read the clock. */
  protected override get mark(): number {
    return this.#opensFull ? this.#live.bits + INDEX_BITS : 0;
  }
}

export function openFixedWindow(
  place: CellPlace,
  asked: KernelName | undefined,
): RefundableWindowKernel {
  return new HostedFixedWindow(openWindows(place.region, asked), place);
}
