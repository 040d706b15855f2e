import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { WINDOW } from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import type { EngineResults } from '../bucket/engine.ts';
import type { LimiterStats, Outcome, Receipt, WordReceipt } from '../bucket/kernel.ts';
import { window as build } from '../build/modules.ts';
import { ABOVE_ANY_LIMIT, WINDOW_KIND, WINDOW_MOVED, WINDOW_OUTCOME } from '../constants.ts';
import { Counters } from '../counters.ts';
import { EngineModule, type Opened } from '../open.ts';
import { awaitClaims } from '../records.ts';
import { type Bounds, boundsOf, damagedWord, liveWindow } from './cell.ts';
import { type Change, checkChange, ringEntries } from './limit.ts';

/**
 * Reads the limiter's clock for a kernel. The reading is a field, because a number that a function
 * returns may be allocated on the heap.
 */
export interface ClockReader {
  read(): void;
  /** The last reading, in microseconds of the clock. */
  readonly us: number;
}

/** A window or log: its kind as a number, and the entries of its ring. */
type Window = [cell: number, kind: number, places: number];
/** The least and most tokens to take, and whether to report the state afterwards. */
type Asked = [least: number, most: number, withState: boolean];
/** The halves of a word. */
type Word = [low: number, high: number];

/**
 * The engine's operations on windows and logs. The clock may throw, or call a limiter on the same
 * instance, so the host reads it between calls.
 */
export interface WindowEngine
  extends Pick<EngineResults, 'failedExchanges' | 'receiptLow' | 'receiptHigh'> {
  /** Takes tokens without the clock. */
  fixedTake(cell: number, tokens: number): number;
  /** `kept` is the sum of the kept slots of a sliding window, for the slot `keptFor`. */
  windowTakeAt(
    ...call: [...Window, nowUs: number, ...Asked, object: number, keptFor: number, kept: number]
  ): number;
  windowReturnAt(
    ...call: [cell: number, kind: number, nowUs: number, tokens: number, ...Word]
  ): number;
  windowReconfigureAt(
    ...call: [...Window, nowUs: number, epoch: number, limit: number, intervalMs: number]
  ): number;
  windowCancel(cell: number, kind: number, low: number, high: number, cost: number): number;

  /** The sum of the kept slots for the head that the last call met. */
  slidingKept(cell: number, slots: number): number;
  /** The slot for which it was computed. */
  slidingKeptSlot(): number;

  sometimesDue(cell: number): number;
  sometimesDueAt(cell: number, nowUs: number): number;

  /** Loads the word before the clock is read, and returns its low half. */
  windowLook(cell: number): number;
  /** The high half of that word. */
  windowSeenHigh(): number;
  /** Hands that word to the next call, after the clock was read. */
  windowRecall(cell: number, low: number, high: number, nowUs: number): void;

  // After an admission.
  windowPlaceLow(): number;
  windowPlaceHigh(): number;

  // After a refusal, or with `withState`.
  windowLimit(): number;
  windowWaitUs(): number;
  windowLeft(): number;
  windowFullUs(): number;
  windowNextUs(): number;

  /** Forgets the words read so far. */
  leaveRegion(): void;
}

const windows = /* @__PURE__ */ new EngineModule<WindowEngine>(build);

/** The engine for a region's windows, logs and `Sometimes`. */
export function openWindows(region: Region, asked: KernelName | undefined): Opened<WindowEngine> {
  return windows.openShared(region, asked);
}

/** The receipt of a call that took no tokens. */
const NOTHING: WordReceipt = { low: 0, high: 0, costLow: 0, costHigh: 0 };

let objects = 0;
/** Attempts of this thread. */
let attempts = 0;

/** The engine's number for a kind. */
function kindOf({ kind, allowDoubleBurst }: Bounds): number {
  if (kind === 'sliding-log') return WINDOW_KIND.log;
  if (kind === 'sliding-window') return WINDOW_KIND.sliding;
  return allowDoubleBurst ? WINDOW_KIND.full : WINDOW_KIND.fixed;
}

/**
 * The lock-free, linearizable operations of a window or log, which cannot reserve ahead. A thread
 * terminated inside an operation leaves memory that other threads can continue with. The engine does
 * all the work except reading the clock and counting.
 */
export class HostedWindow {
  readonly name: KernelName;
  readonly #engine: WindowEngine;
  readonly #place: CellPlace;
  readonly #bounds: Bounds;
  readonly #counters: Counters | undefined;
  // Passed with each call: they never change.
  readonly #cell: number;
  readonly #kind: number;
  readonly #places: number;
  /** Tells this object from others on one engine. */
  readonly #number = ++objects;

  // The sum of a sliding window's kept slots, computed when this thread first saw the head's slot.
  #keptFor = -1;
  #kept = 0;

  /** The window or slot of this object's latest admission, and its tokens there. */
  #low = 0;
  #high = 0;
  #mine = 0;

  /** Exchanges that failed since the last count, because another thread changed the word. */
  #failedExchanges = 0;
  // Results of the last attempt.
  #taken = 0;

  constructor({ engine, name }: Opened<WindowEngine>, place: CellPlace) {
    this.name = name;
    this.#engine = engine;
    this.#place = place;
    this.#bounds = boundsOf(place);
    this.#counters = Counters.open(place);
    this.#cell = place.offset;
    this.#kind = kindOf(this.#bounds);
    this.#places = ringEntries(this.#bounds.kind, this.#bounds);
    // The cell may lie where another limiter was, in reused memory.
    engine.leaveRegion();
  }

  /**
   * Takes all available tokens from `least` to `most`, or none, and returns their number. With
   * `withState`, the engine also keeps the state right after, and `waitUs` even for no tokens.
   */
  #attempt(least: number, most: number, clock: ClockReader, withState: boolean): number {
    let taken: number = WINDOW_OUTCOME.again;
    if (this.#kind === WINDOW_KIND.full && !withState) {
      taken = this.#engine.fixedTake(this.#cell, most);
      this.#countRaces();
    }
    if (taken < 0) {
      const attempt = ++attempts;
      clock.read();
      // The clock may have called a limiter, which has met a word that is newer than the reading.
      if (attempt === attempts) taken = this.#takeAt(least, most, clock, withState);
    }
    while (taken < 0) {
      if (taken !== WINDOW_OUTCOME.again) this.#failDamaged();
      this.#lookThenRead(clock);
      taken = this.#takeAt(least, most, clock, withState);
    }
    if (taken < WINDOW_MOVED) this.#mine += taken;
    else taken = this.#move(taken - WINDOW_MOVED);
    this.#taken = taken;
    return taken;
  }

  #takeAt(least: number, most: number, clock: ClockReader, withState: boolean): number {
    for (;;) {
      const taken = this.#engine.windowTakeAt(
        this.#cell,
        this.#kind,
        this.#places,
        clock.us,
        least,
        most,
        withState,
        this.#number,
        this.#keptFor,
        this.#kept,
      );
      this.#countRaces();
      if (taken !== WINDOW_OUTCOME.newSlot) return taken;
      this.#kept = this.#engine.slidingKept(this.#cell, this.#places);
      this.#keptFor = this.#engine.slidingKeptSlot();
    }
  }

  /** Loads the word, then reads the clock, for an attempt on a word older than the reading. */
  #lookThenRead(clock: ClockReader): void {
    const low = this.#engine.windowLook(this.#cell);
    const high = this.#engine.windowSeenHigh();
    // The clock may throw, or call a limiter on this engine.
    clock.read();
    this.#engine.windowRecall(this.#cell, low, high, clock.us);
  }

  #countRaces(): void {
    if (this.#counters !== undefined) this.#failedExchanges += this.#engine.failedExchanges();
  }

  #count(tokens: number, isRefused: boolean): void {
    this.#counters?.count(tokens, isRefused, this.#failedExchanges);
    this.#failedExchanges = 0;
  }

  /** Counts a call of {@link tryTake}. */
  countWait(tokens: number, isTaken: boolean): void {
    this.#count(isTaken ? tokens : 0, !isTaken);
  }

  /** Throws for a configuration that no thread writes, or a word. */
  #failDamaged(): never {
    liveWindow(this.#place, this.#bounds);
    throw damagedWord();
  }

  /**
   * After a refused {@link take} of this thread, until its next call on any limiter: microseconds
   * from the last clock reading to the earliest retry that can succeed; Infinity for more than the
   * limit.
   */
  get waitUs(): number {
    return this.#engine.windowWaitUs();
  }

  /** The most tokens that a window currently admits. */
  get limit(): number {
    return liveWindow(this.#place, this.#bounds).limit;
  }

  /** The limit under which this thread's last call was decided. */
  get metLimit(): number {
    return this.#engine.windowLimit();
  }

  /** The current length of a window in milliseconds. */
  get intervalMs(): number {
    return liveWindow(this.#place, this.#bounds).intervalMs;
  }

  /** Takes `tokens` now, or none. */
  take(tokens: number, clock: ClockReader): boolean {
    const isTaken = this.tryTake(tokens, clock);
    this.countWait(tokens, isTaken);
    return isTaken;
  }

  /** {@link take} for a call that is counted when its wait ends. */
  tryTake(tokens: number, clock: ClockReader): boolean {
    this.#taken = 0;
    // Faster than Math.min, which distinguishes 0 from -0.
    const n = tokens < ABOVE_ANY_LIMIT ? tokens : ABOVE_ANY_LIMIT;
    return n === 0 || this.#attempt(n, n, clock, false) === n;
  }

  /** Takes all available tokens, at most `tokens`. */
  drain(tokens: number, clock: ClockReader): number {
    const most = Math.min(tokens, ABOVE_ANY_LIMIT);
    const taken = tokens === 0 ? 0 : this.#attempt(1, most, clock, false);
    this.#count(taken, taken === 0 && tokens > 0);
    return taken;
  }

  /** {@link take}; also returns the limiter's state at its instant. */
  decide(tokens: number, clock: ClockReader): Outcome {
    const n = Math.min(tokens, ABOVE_ANY_LIMIT);
    const allowed = this.#attempt(n, n, clock, true) === n;
    this.#count(allowed ? tokens : 0, !allowed);
    return {
      allowed,
      burst: this.#engine.windowLimit(),
      balance: this.#engine.windowLeft(),
      retryUs: allowed ? 0 : this.waitUs,
      fullUs: this.#engine.windowFullUs(),
      nextUs: this.#engine.windowNextUs(),
    };
  }

  /** Identifies this thread's last admitted `take`, for {@link cancel}. */
  receipt(): WordReceipt {
    // A call for 0 tokens never reaches the engine.
    if (this.#taken === 0) return NOTHING;
    const [low, high] = [this.#engine.receiptLow(), this.#engine.receiptHigh()];
    return { low, high, costLow: this.#taken, costHigh: 0 };
  }

  /** Cancels a `take` if none followed it; otherwise its tokens lapse and this returns false. */
  cancel(receipt: Receipt): boolean {
    const { low, high, costLow } = receipt as WordReceipt; // this kernel issues no others
    const isUndone = this.#engine.windowCancel(this.#cell, this.#kind, low, high, costLow) !== 0;
    // The tokens can no longer be returned.
    if (isUndone) this.#mine -= costLow;
    return isUndone;
  }

  /** Notes tokens that this object took, perhaps in another window or slot than before. */
  #move(tokens: number): number {
    const low = this.#engine.windowPlaceLow();
    const high = this.#engine.windowPlaceHigh();
    const isSame = low === this.#low && high === this.#high;
    this.#low = low;
    this.#high = high;
    this.#mine = isSame ? this.#mine + tokens : tokens;
    return tokens;
  }

  /**
   * Puts back tokens that this thread took in the current window or slot under the current limit,
   * and returns their number. Others lapse: all of them in a log.
   */
  returnTokens(tokens: number, clock: ClockReader): number {
    clock.read();
    const isKept = this.#kind === WINDOW_KIND.fixed || this.#kind === WINDOW_KIND.sliding;
    const most = isKept ? Math.min(tokens, this.#mine) : 0;
    if (most <= 0) return 0;
    const returned = this.#engine.windowReturnAt(
      this.#cell,
      this.#kind,
      clock.us,
      most,
      this.#low,
      this.#high,
    );
    this.#mine -= returned;
    return returned;
  }

  /** Microseconds until `tokens` can be taken: 0 for now, Infinity for more than the limit. */
  timeUntil(tokens: number, clock: ClockReader): number {
    if (tokens === 0) return 0;
    this.#attempt(Math.min(tokens, ABOVE_ANY_LIMIT), 0, clock, true);
    return tokens <= this.#engine.windowLeft() ? 0 : this.waitUs;
  }

  /** Tokens that can be taken now. */
  available(clock: ClockReader): number {
    this.#attempt(0, 0, clock, true);
    return this.#engine.windowLeft();
  }

  /** Changes the limit for all threads. */
  reconfigure(change: Partial<Change>, clock: ClockReader): void {
    for (;;) {
      const { epoch, limit, intervalMs } = liveWindow(this.#place, this.#bounds);
      const old = { limit, intervalMs };
      const next = checkChange(this.#bounds.kind, { ...old, ...change }, this.#bounds);
      this.#lookThenRead(clock);
      const outcome = this.#engine.windowReconfigureAt(
        this.#cell,
        this.#kind,
        this.#places,
        clock.us,
        epoch,
        next.limit,
        next.intervalMs,
      );
      if (outcome === 0) return;
      if (outcome === WINDOW_OUTCOME.damaged) this.#failDamaged();
      if (outcome === WINDOW_OUTCOME.busy) awaitClaims(this.#place, WINDOW.claims);
    }
  }

  /** Counts so far, or undefined without `stats: true`. */
  stats(): LimiterStats | undefined {
    return this.#counters?.sum();
  }
}

export function openWindow(place: CellPlace, asked: KernelName | undefined): HostedWindow {
  return new HostedWindow(openWindows(place.region, asked), place);
}
