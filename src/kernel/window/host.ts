import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import type { EngineResults } from '../bucket/host.ts';
import type { LimiterStats, Outcome, WordReceipt } from '../bucket/kernel.ts';
import { Counters } from '../counters.ts';
import type { Opened } from '../open.ts';
import type { ClockReader, WindowKernel } from './kernel.ts';

/**
 * The engine's operations on windows and logs, by their cells. The clock is the user's own code: it may
 * throw, or call a limiter on the same instance. So it is read between two calls: a word is looked at,
 * then the clock is read, then both are passed on, the word in halves. What a limiter was made with is
 * passed on too: its memory may have changed since it was checked.
 */
export interface WindowEngine extends EngineResults {
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

  /** Loads a word and returns its low half. */
  windowLook(cell: number): number;
  windowLookHigh(): number;

  windowCancel(cell: number, low: number, high: number, cost: number, mark: number): number;

  // After a refusal or a survey.
  windowWaitUs(): number;
  windowLeft(): number;
  windowFullUs(): number;
}

/** A word that is looked at before the clock is read. */
export class SeenWord {
  readonly #engine: WindowEngine;
  readonly #cell: number;
  low = 0;
  high = 0;

  constructor(engine: WindowEngine, cell: number) {
    this.#engine = engine;
    this.#cell = cell;
  }

  /** Looks at the word, then reads the clock. */
  lookThenRead(clock: ClockReader): void {
    const low = this.#engine.windowLook(this.#cell);
    const high = this.#engine.windowLookHigh();
    clock.read();
    // After the clock, which may have called this limiter.
    this.low = low;
    this.high = high;
  }
}

/** The receipt of a call that took nothing. */
const NOTHING: WordReceipt = { low: 0, high: 0, costLow: 0, costHigh: 0 };

/** A window or a log on the engine: its one loop is `attempt`, and all operations are made of it. */
export abstract class HostedWindow implements WindowKernel {
  readonly name: KernelName;
  readonly limit: number;
  protected readonly engine: WindowEngine;
  protected readonly cell: number;
  protected readonly seen: SeenWord;
  readonly #counters: Counters | undefined;

  // What the last attempt left.
  /** Exchanges lost to other threads. */
  #lostRaces = 0;
  #taken = 0;
  /** After a refusal: microseconds until as many as were asked for at least can be there. */
  waitUs = 0;
  /** After a survey: tokens left. */
  #balance = 0;
  /** After a survey: microseconds until the limiter is as good as new. */
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
   * Takes as many tokens as there are, at most `most`, and returns how many; none if there are
   * fewer than `least`. With `survey`, also says how things stood right after, and `waitUs` even if
   * nothing was asked for. `least` and `most` are at most the limit.
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
    // Of a call for no tokens the engine knows nothing.
    if (this.#taken === 0) return NOTHING;
    const { engine } = this;
    const [low, high] = [engine.receiptLow(), engine.receiptHigh()];
    return { low, high, costLow: this.#taken, costHigh: 0 };
  }

  cancel({ low, high, costLow }: WordReceipt): boolean {
    return this.engine.windowCancel(this.cell, low, high, costLow, this.mark) !== 0;
  }

  /** What a cancellation leaves in the word beside the count. */
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

  /** Fetches what the last attempt left, and returns what it took. */
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
