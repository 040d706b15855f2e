import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import type { Region } from '../../memory/region.ts';
import type { EngineResults } from '../bucket/host.ts';
import type { LimiterStats, Outcome, WordReceipt } from '../bucket/kernel.ts';
import { window as build } from '../build/modules.ts';
import { Counters } from '../counters.ts';
import { EngineModule, type Opened } from '../open.ts';
import type { ClockReader, WindowKernel } from './kernel.ts';

/**
 * The engine's operations on windows and logs. The clock may throw or call a limiter on the same
 * instance, so the host reads it between calls. The host passes the configuration it validated.
 */
export interface WindowEngine
  extends Pick<EngineResults, 'lostRaces' | 'receiptLow' | 'receiptHigh'> {
  fixedTake(cell: number, limit: number, bits: number, tokens: number): number;
  fixedTakeAt(
    cell: number,
    limit: number,
    bits: number,
    unitTicks: number,
    intervalUnits: number,
    originTicks: number,
    low: number,
    high: number,
    nowUs: number,
    least: number,
    most: number,
    survey: boolean,
  ): number;

  slidingTakeAt(
    cell: number,
    limit: number,
    bits: number,
    slots: number,
    slotTicks: number,
    originTicks: number,
    low: number,
    high: number,
    nowUs: number,
    keptFor: number,
    kept: number,
    least: number,
    most: number,
    survey: boolean,
  ): number;
  slidingAddUp(cell: number, bits: number, slots: number, low: number, high: number): number;
  slidingKept(): number;

  logTakeAt(
    cell: number,
    limit: number,
    bits: number,
    intervalTicks: number,
    originTicks: number,
    low: number,
    high: number,
    nowUs: number,
    least: number,
    most: number,
    survey: boolean,
  ): number;

  sometimesDue(cell: number, first: number, every: number, bits: number): number;
  sometimesDueAt(
    cell: number,
    first: number,
    every: number,
    bits: number,
    unitTicks: number,
    intervalUnits: number,
    originTicks: number,
    low: number,
    high: number,
    nowUs: number,
  ): number;

  /** Loads the word before the clock is read, and returns its low half. */
  windowLook(cell: number): number;
  /** The halves of that word, or of the word that {@link fixedTake} loaded. */
  windowSeenLow(): number;
  windowSeenHigh(): number;

  windowCancel(cell: number, low: number, high: number, cost: number, mark: number): number;

  // After a refusal or a survey.
  windowWaitUs(): number;
  windowLeft(): number;
  windowFullUs(): number;
}

/** A word that is loaded before the clock is read. */
export class SeenWord {
  readonly #engine: WindowEngine;
  readonly #cell: number;
  low = 0;
  high = 0;

  constructor(engine: WindowEngine, cell: number) {
    this.#engine = engine;
    this.#cell = cell;
  }

  /** Loads the word, then reads the clock. */
  lookThenRead(clock: ClockReader): void {
    this.#read(clock, this.#engine.windowLook(this.#cell));
  }

  /** Reads the clock after the engine has loaded the word. */
  thenRead(clock: ClockReader): void {
    this.#read(clock, this.#engine.windowSeenLow());
  }

  #read(clock: ClockReader, low: number): void {
    const high = this.#engine.windowSeenHigh();
    clock.read();
    // Stored only now, because the clock may have called this limiter.
    this.low = low;
    this.high = high;
  }
}

/** The receipt of a call that took no tokens. */
const NOTHING: WordReceipt = { low: 0, high: 0, costLow: 0, costHigh: 0 };

/** A window or log on the engine. All operations are built on one loop, `attempt`. */
export abstract class HostedWindow implements WindowKernel {
  readonly name: KernelName;
  readonly limit: number;
  protected readonly engine: WindowEngine;
  protected readonly cell: number;
  protected readonly seen: SeenWord;
  readonly #counters: Counters | undefined;

  // Results of the last attempt.
  /** Exchanges that failed because another thread changed the word. */
  #lostRaces = 0;
  #taken = 0;
  /** After a refusal: microseconds until the least tokens requested can be available. */
  waitUs = 0;
  /** After a survey: tokens left. */
  #balance = 0;
  /** After a survey: microseconds until no admission counts any more. */
  #fullUs = 0;

  protected constructor({ engine, name }: Opened<WindowEngine>, place: CellPlace, limit: number) {
    this.name = name;
    this.limit = limit;
    this.engine = engine;
    this.cell = place.offset;
    this.seen = new SeenWord(engine, place.offset);
    this.#counters = Counters.open(place);
  }

  /**
   * Takes all available tokens from `least` to `most` (up to the limit), or none, and returns their
   * number. With `survey`, also keeps the state right after, and `waitUs` even for no tokens.
   */
  protected abstract attempt(
    least: number,
    most: number,
    clock: ClockReader,
    survey: boolean,
  ): number;

  take(tokens: number, clock: ClockReader): boolean {
    this.#lostRaces = 0;
    this.#taken = 0;
    let isTaken = tokens === 0;
    if (tokens > this.limit) this.waitUs = Number.POSITIVE_INFINITY;
    else if (!isTaken) isTaken = this.attempt(tokens, tokens, clock, false) === tokens;
    this.#counters?.count(isTaken ? tokens : 0, !isTaken, this.#lostRaces);
    return isTaken;
  }

  drain(tokens: number, clock: ClockReader): number {
    this.#lostRaces = 0;
    const taken = tokens === 0 ? 0 : this.attempt(1, Math.min(tokens, this.limit), clock, false);
    this.#counters?.count(taken, taken === 0 && tokens > 0, this.#lostRaces);
    return taken;
  }

  decide(tokens: number, clock: ClockReader): Outcome {
    this.#lostRaces = 0;
    const never = tokens > this.limit;
    const wanted = never ? 0 : tokens;
    const allowed = this.attempt(wanted, wanted, clock, true) === tokens;
    this.#counters?.count(allowed ? tokens : 0, !allowed, this.#lostRaces);
    const retryUs = allowed ? 0 : never ? Number.POSITIVE_INFINITY : this.waitUs;
    return { allowed, burst: this.limit, balance: this.#balance, retryUs, fullUs: this.#fullUs };
  }

  receipt(): WordReceipt {
    // A call for 0 tokens never reaches the engine.
    if (this.#taken === 0) return NOTHING;
    const [low, high] = [this.engine.receiptLow(), this.engine.receiptHigh()];
    return { low, high, costLow: this.#taken, costHigh: 0 };
  }

  cancel({ low, high, costLow }: WordReceipt): boolean {
    return this.engine.windowCancel(this.cell, low, high, costLow, this.mark) !== 0;
  }

  /** The bits that a cancellation sets in the word. */
  protected get mark(): number {
    return 0;
  }

  timeUntil(tokens: number, clock: ClockReader): number {
    if (tokens > this.limit) return Number.POSITIVE_INFINITY;
    if (tokens === 0) return 0;
    this.attempt(tokens, 0, clock, true);
    return tokens <= this.#balance ? 0 : this.waitUs;
  }

  available(clock: ClockReader): number {
    this.attempt(0, 0, clock, true);
    return this.#balance;
  }

  stats(): LimiterStats | undefined {
    return this.#counters?.sum();
  }

  /** Adds the races that the last attempt lost. */
  protected countRaces(): void {
    if (this.#counters !== undefined) this.#lostRaces += this.engine.lostRaces();
  }

  /** Fetches the results of the last attempt, and returns the tokens it took. */
  protected conclude(taken: number, least: number, survey: boolean): number {
    this.#taken = taken;
    if (survey || taken < least) this.waitUs = this.engine.windowWaitUs();
    if (survey) {
      this.#balance = this.engine.windowLeft();
      this.#fullUs = this.engine.windowFullUs();
    }
    return taken;
  }
}

const windows = new EngineModule<WindowEngine>(build);

/** The engine for a region's windows, logs and `Sometimes`. */
export function openWindows(region: Region, asked: KernelName | undefined): Opened<WindowEngine> {
  return windows.openShared(region, asked);
}
