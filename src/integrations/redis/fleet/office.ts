import {
  FLEET_STOCK,
  OFFICE_CLOSED,
  OFFICE_ENTRY_BITS,
  OFFICE_STATE_BITS,
  OFFICE_VACANT,
} from '../../../memory/layout/fleet.ts';
import type { Region } from '../../../memory/region.ts';
import { BuyerBell } from './buyer-bell.ts';
import { doesRun, ownOsThread } from './os-thread.ts';

/** Int32 indices of the signals. */
const BUYER_AT = FLEET_STOCK.buyer >> 2;
const RINGS_AT = FLEET_STOCK.rings >> 2;
const BEATS_AT = FLEET_STOCK.beats >> 2;
const THREAD_AT = FLEET_STOCK.thread >> 2;
const STARTED_AT = FLEET_STOCK.started >> 2;

/** The state of the buyer, in the low bits of its word. The high bits are the tenure. */
const STATE = {
  /** The buyer checks the stock every few milliseconds. */
  awake: 0,
  /** Nothing is spent: the first spend wakes the buyer. */
  asleep: 1,
  /** The stock is closed. */
  closed: OFFICE_CLOSED,
  /** The buyer gave no sign of life: any thread with a source may replace it. */
  vacant: OFFICE_VACANT,
} as const;
const STATE_MASK = 2 ** OFFICE_STATE_BITS - 1;
/** A tenure consists of a number and, in the low bits, the entry of the buyer's process. */
const ENTRY_MASK = 2 ** OFFICE_ENTRY_BITS - 1;

function wordOf(tenure: number, state: number): number {
  return (tenure << OFFICE_STATE_BITS) | state;
}

function tenureIn(word: number): number {
  return word >> OFFICE_STATE_BITS;
}

/** Whether the word is that of a tenure in progress. */
function isHeld(word: number, tenure: number): boolean {
  const state = word & STATE_MASK;
  return tenureIn(word) === tenure && state !== STATE.closed && state !== STATE.vacant;
}

/**
 * The office of a stock's buyer. One thread at a time holds it, for a tenure. Every change of the
 * word checks the tenure, so a replaced buyer can't change anything.
 */
export class Office {
  /** Wakes the buyer and asks it for a sign of life. */
  readonly bell: BuyerBell;
  readonly #signals: Int32Array<SharedArrayBuffer>;
  readonly #region: Region | undefined;

  /** @param region the region of a stock with a name */
  constructor(signals: Int32Array<SharedArrayBuffer>, region?: Region) {
    this.#signals = signals;
    this.#region = region;
    this.bell = new BuyerBell(signals, RINGS_AT, region);
  }

  /** The entry of this process in a region that several share; 0 in any other. */
  get #entry(): number {
    return this.#region?.sharing?.process ?? 0;
  }

  /** The entry in this thread's tenures: 0 if it shares another's, whose end is not its own. */
  get #tenureEntry(): number {
    return this.#region?.sharing?.hasLeft === undefined ? 0 : this.#entry;
  }

  get #word(): number {
    return Atomics.load(this.#signals, BUYER_AT);
  }

  #exchange(from: number, to: number): boolean {
    return Atomics.compareExchange(this.#signals, BUYER_AT, from, to) === from;
  }

  get isClosed(): boolean {
    return (this.#word & STATE_MASK) === STATE.closed;
  }

  get isVacant(): boolean {
    return (this.#word & STATE_MASK) === STATE.vacant;
  }

  /** Whether a tenure still lasts. */
  isHeldBy(tenure: number): boolean {
    return isHeld(this.#word, tenure);
  }

  /** Makes the office of a new stock vacant, before other threads know the stock. */
  open(): void {
    Atomics.store(this.#signals, BUYER_AT, STATE.vacant);
  }

  /** Takes the office if it is vacant. Returns the tenure. */
  assume(): number | undefined {
    const word = this.#word;
    if ((word & STATE_MASK) !== STATE.vacant) return undefined;
    const number = (tenureIn(word) >> OFFICE_ENTRY_BITS) + 1;
    const next = wordOf((number << OFFICE_ENTRY_BITS) | this.#tenureEntry, STATE.awake);
    // Read before the exchange: after it, the last buyer's thread counts as this tenure's.
    const { id, started } = ownOsThread();
    if (!this.#exchange(word, next)) return undefined;
    Atomics.store(this.#signals, THREAD_AT, id);
    Atomics.store(this.#signals, STARTED_AT, started);
    this.beat();
    return tenureIn(next);
  }

  /** Gives a sign of life of the buyer. */
  beat(): void {
    Atomics.add(this.#signals, BEATS_AT, 1);
  }

  get beats(): number {
    return Atomics.load(this.#signals, BEATS_AT);
  }

  /**
   * Whether the latest buyer still runs, and may buy again after a pause: its thread, or in another
   * process, that process. Undefined if the system can't tell.
   */
  get doesBuyerRun(): boolean | undefined {
    const entry = tenureIn(this.#word) & ENTRY_MASK;
    // Entry 0 in a region that processes share: it has resigned or ended, or has no entry.
    if (entry !== this.#entry) return entry === 0 ? undefined : !this.#hasEnded(entry);
    const id = Atomics.load(this.#signals, THREAD_AT);
    return doesRun({ id, started: Atomics.load(this.#signals, STARTED_AT) });
  }

  #hasEnded(entry: number): boolean {
    try {
      return this.#region?.sharing?.hasEnded(entry) === true;
    } catch {
      return false; // the region was closed
    }
  }

  /** The latest tenure. */
  get tenure(): number {
    return tenureIn(this.#word);
  }

  /**
   * Ends the tenure of a buyer that gives no sign of life. Read the tenure before the signs: a
   * successor may have come since.
   */
  vacate(tenure: number): void {
    for (;;) {
      const word = this.#word;
      if (!isHeld(word, tenure)) return;
      if (this.#exchange(word, wordOf(tenure, STATE.vacant))) break;
    }
    this.bell.ring();
  }

  /**
   * Ends a tenure on behalf of its buyer, which won't return, even if it was declared vacant before.
   * Without a successor, the stock is closed later.
   */
  resign(tenure: number): void {
    for (;;) {
      const word = this.#word;
      if (tenureIn(word) !== tenure || (word & STATE_MASK) === STATE.closed) return;
      if (this.#exchange(word, wordOf(tenure & ~ENTRY_MASK, STATE.vacant))) break;
    }
    // A successor may have stored its own thread by now.
    Atomics.compareExchange(this.#signals, THREAD_AT, ownOsThread().id, 0);
    this.bell.ring();
  }

  /** Makes spends wake the buyer. */
  lieDown(tenure: number): void {
    this.#exchange(wordOf(tenure, STATE.awake), wordOf(tenure, STATE.asleep));
  }

  /** Makes spends stop waking the buyer. */
  getUp(tenure: number): void {
    this.#exchange(wordOf(tenure, STATE.asleep), wordOf(tenure, STATE.awake));
  }

  /** Wakes the buyer if it is asleep. Returns whether the stock is still open. */
  rouse(): boolean {
    const word = this.#word;
    const state = word & STATE_MASK;
    if (state === STATE.asleep && this.#exchange(word, wordOf(tenureIn(word), STATE.awake))) {
      this.bell.ring();
    }
    return state !== STATE.closed;
  }

  /** Closes the stock for good if the office is vacant. Returns whether it did. */
  closeVacant(): boolean {
    const word = this.#word;
    if ((word & STATE_MASK) !== STATE.vacant) return false;
    return this.#exchange(word, wordOf(tenureIn(word), STATE.closed));
  }

  /** Closes the stock for good. Returns whether it was open. */
  close(): boolean {
    for (;;) {
      const word = this.#word;
      if ((word & STATE_MASK) === STATE.closed) return false;
      if (this.#exchange(word, wordOf(tenureIn(word), STATE.closed))) return true;
    }
  }
}
