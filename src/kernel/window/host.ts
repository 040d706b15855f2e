import { RateLimitError } from '../../errors.ts';
import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import type { LimiterStats, Outcome, WordReceipt } from '../bucket/kernel.ts';
import { ABOVE_ANY_LIMIT, WINDOW_OUTCOME } from '../constants.ts';
import { Counters } from '../counters.ts';
import type { Opened } from '../open.ts';
import { boundsOf, damagedWord } from './cell.ts';
import type { WindowEngine } from './engine.ts';
import type { ClockReader, WindowKernel } from './kernel.ts';
import { type Change, checkChange } from './limit.ts';
import { type Bounds, liveWindow, type WindowRecord } from './record.ts';
import { SeenWord } from './seen-word.ts';

/** The receipt of a call that took no tokens. */
const NOTHING: WordReceipt = { low: 0, high: 0, costLow: 0, costHigh: 0 };

/** A window or log on the engine. All operations use one loop, `attempt`. */
export abstract class HostedWindow implements WindowKernel {
  readonly name: KernelName;
  protected readonly engine: WindowEngine;
  protected readonly cell: number;
  protected readonly seen: SeenWord;
  protected readonly bounds: Bounds;
  readonly #place: CellPlace;
  readonly #counters: Counters | undefined;

  // Results of the last attempt.
  /** Exchanges that failed because another thread changed the word. */
  #lostRaces = 0;
  #taken = 0;
  /** After a survey: tokens left. */
  #balance = 0;
  /** After a survey: microseconds until no admission counts any more. */
  #fullUs = 0;

  protected constructor({ engine, name }: Opened<WindowEngine>, place: CellPlace) {
    this.name = name;
    this.engine = engine;
    this.cell = place.offset;
    this.seen = new SeenWord(engine, place.offset);
    this.bounds = boundsOf(place);
    this.#place = place;
    this.#counters = Counters.open(place);
  }

  /**
   * Takes all available tokens from `least` to `most`, or none, and returns their number. With
   * `survey`, also keeps the state right after, and sets `waitUs` even for no tokens.
   */
  protected abstract attempt(
    least: number,
    most: number,
    clock: ClockReader,
    survey: boolean,
  ): number;

  /** The record that the last attempt used. */
  protected abstract get record(): WindowRecord;

  /** Uses another record from now on. */
  protected abstract adopt(record: WindowRecord): void;

  /** Attempts to change the limit once; returns 0 or an outcome of the engine. */
  protected abstract change(change: Change, clock: ClockReader): number;

  /** Reads the record in force. */
  protected refresh(): void {
    const live = liveWindow(this.#place, this.bounds);
    if (live.generation !== this.record?.generation) this.adopt(live);
  }

  /** Fetched on demand, because most callers of `take` do not need it. */
  get waitUs(): number {
    return this.engine.windowWaitUs();
  }

  get limit(): number {
    return liveWindow(this.#place, this.bounds).limit;
  }

  /** The limit under which the last call was decided. */
  get metLimit(): number {
    return this.record.limit;
  }

  get intervalMs(): number {
    return liveWindow(this.#place, this.bounds).intervalMs;
  }

  take(tokens: number, clock: ClockReader): boolean {
    this.#lostRaces = 0;
    this.#taken = 0;
    // Faster than Math.min, which distinguishes 0 from -0.
    const n = tokens < ABOVE_ANY_LIMIT ? tokens : ABOVE_ANY_LIMIT;
    const isTaken = n === 0 || this.attempt(n, n, clock, false) === n;
    this.#counters?.count(isTaken ? tokens : 0, !isTaken, this.#lostRaces);
    return isTaken;
  }

  drain(tokens: number, clock: ClockReader): number {
    this.#lostRaces = 0;
    const most = Math.min(tokens, ABOVE_ANY_LIMIT);
    const taken = tokens === 0 ? 0 : this.attempt(1, most, clock, false);
    this.#counters?.count(taken, taken === 0 && tokens > 0, this.#lostRaces);
    return taken;
  }

  decide(tokens: number, clock: ClockReader): Outcome {
    this.#lostRaces = 0;
    const n = Math.min(tokens, ABOVE_ANY_LIMIT);
    const allowed = this.attempt(n, n, clock, true) === n;
    this.#counters?.count(allowed ? tokens : 0, !allowed, this.#lostRaces);
    const retryUs = allowed ? 0 : this.waitUs;
    const burst = this.record.limit;
    return { allowed, burst, balance: this.#balance, retryUs, fullUs: this.#fullUs };
  }

  receipt(): WordReceipt {
    // A call for 0 tokens never reaches the engine.
    if (this.#taken === 0) return NOTHING;
    const [low, high] = [this.engine.receiptLow(), this.engine.receiptHigh()];
    return { low, high, costLow: this.#taken, costHigh: 0 };
  }

  cancel({ low, high, costLow }: WordReceipt): boolean {
    const isUndone = this.engine.windowCancel(this.cell, low, high, costLow, this.mark) !== 0;
    if (isUndone) this.forget(costLow);
    return isUndone;
  }

  /** The bit that a cancellation sets in the word; 0 for none. */
  protected get mark(): number {
    return 0;
  }

  /** Called after a cancellation: the tokens can no longer be returned. */
  protected forget(_tokens: number): void {}

  timeUntil(tokens: number, clock: ClockReader): number {
    if (tokens === 0) return 0;
    this.attempt(Math.min(tokens, ABOVE_ANY_LIMIT), 0, clock, true);
    return tokens <= this.#balance ? 0 : this.waitUs;
  }

  available(clock: ClockReader): number {
    this.attempt(0, 0, clock, true);
    return this.#balance;
  }

  reconfigure(change: Partial<Change>, clock: ClockReader): void {
    for (;;) {
      this.refresh();
      const { limit, intervalMs } = this.record;
      const next = checkChange(this.bounds.kind, { limit, intervalMs, ...change }, this.bounds);
      const outcome = this.change(next, clock);
      if (outcome === 0) {
        this.refresh();
        return;
      }
      if (outcome === WINDOW_OUTCOME.damaged) throw damagedWord();
      if (outcome === WINDOW_OUTCOME.busy) {
        throw new RateLimitError('ERR_RECONFIGURE_BUSY', 'too many threads reconfigure at once');
      }
    }
  }

  stats(): LimiterStats | undefined {
    return this.#counters?.sum();
  }

  /** Adds the races that the last attempt lost. */
  protected countRaces(): void {
    if (this.#counters !== undefined) this.#lostRaces += this.engine.lostRaces();
  }

  /** Fetches the results of the last attempt, and returns the tokens it took. */
  protected conclude(taken: number, survey: boolean): number {
    this.#taken = taken;
    if (survey) {
      this.#balance = this.engine.windowLeft();
      this.#fullUs = this.engine.windowFullUs();
    }
    return taken;
  }
}
