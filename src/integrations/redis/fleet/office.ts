import { FLEET_STOCK } from '../../../memory/layout/fleet.ts';
import { BuyerBell } from './buyer-bell.ts';
import { doesRun, ownOsThread } from './os-thread.ts';

/** Int32 indices of the signals. */
const BUYER_AT = FLEET_STOCK.buyer >> 2;
const RINGS_AT = FLEET_STOCK.rings >> 2;
const BEATS_AT = FLEET_STOCK.beats >> 2;
const THREAD_AT = FLEET_STOCK.thread >> 2;
const STARTED_AT = FLEET_STOCK.started >> 2;

/** The state of the buyer, in the low bits of its word. The high bits number the tenure. */
const STATE = {
  /** The buyer checks the stock every few milliseconds. */
  awake: 0,
  /** Nothing is spent: the first spend wakes the buyer. */
  asleep: 1,
  /** The stock is closed. */
  closed: 2,
  /** The buyer gave no sign of life: any thread with a source may replace it. */
  vacant: 3,
} as const;
const STATE_MASK = 3;
const TENURE_SHIFT = 2;

function wordOf(tenure: number, state: number): number {
  return (tenure << TENURE_SHIFT) | state;
}

/**
 * The office of a stock's buyer. One thread at a time holds it, for a tenure. Every change of the
 * word checks the tenure, so a replaced buyer can't change anything.
 */
export class Office {
  /** Wakes the buyer and asks it for a sign of life. */
  readonly bell: BuyerBell;
  readonly #signals: Int32Array<SharedArrayBuffer>;

  constructor(signals: Int32Array<SharedArrayBuffer>) {
    this.#signals = signals;
    this.bell = new BuyerBell(signals, RINGS_AT);
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
    const word = this.#word;
    const state = word & STATE_MASK;
    return word >> TENURE_SHIFT === tenure && state !== STATE.closed && state !== STATE.vacant;
  }

  /**
   * Takes the office for the first time, before other threads know the stock. Returns the tenure.
   */
  open(): number {
    this.#enter();
    return this.#word >> TENURE_SHIFT;
  }

  /** Takes the office if it is vacant. Returns the tenure. */
  assume(): number | undefined {
    const word = this.#word;
    if ((word & STATE_MASK) !== STATE.vacant) return undefined;
    const tenure = (word >> TENURE_SHIFT) + 1;
    if (!this.#exchange(word, wordOf(tenure, STATE.awake))) return undefined;
    this.#enter();
    return tenure;
  }

  #enter(): void {
    const { id, started } = ownOsThread();
    Atomics.store(this.#signals, THREAD_AT, id);
    Atomics.store(this.#signals, STARTED_AT, started);
    this.beat();
  }

  /** Gives a sign of life of the buyer. */
  beat(): void {
    Atomics.add(this.#signals, BEATS_AT, 1);
  }

  get beats(): number {
    return Atomics.load(this.#signals, BEATS_AT);
  }

  /** Whether the latest buyer's thread still runs; undefined if the system can't tell. */
  get doesBuyerRun(): boolean | undefined {
    const id = Atomics.load(this.#signals, THREAD_AT);
    return doesRun({ id, started: Atomics.load(this.#signals, STARTED_AT) });
  }

  /** Ends the tenure of a buyer that gives no sign of life. */
  vacate(): void {
    const word = this.#word;
    const state = word & STATE_MASK;
    if (state === STATE.closed || state === STATE.vacant) return;
    if (this.#exchange(word, wordOf(word >> TENURE_SHIFT, STATE.vacant))) this.bell.ring();
  }

  /** Ends a tenure on behalf of its buyer. Without a successor, the stock is closed later. */
  resign(tenure: number): void {
    if (!this.isHeldBy(tenure)) return;
    Atomics.store(this.#signals, THREAD_AT, 0);
    this.vacate();
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
    if (state === STATE.asleep && this.#exchange(word, wordOf(word >> TENURE_SHIFT, STATE.awake))) {
      this.bell.ring();
    }
    return state !== STATE.closed;
  }

  /** Closes the stock for good if the office is vacant. Returns whether it did. */
  closeVacant(): boolean {
    const word = this.#word;
    if ((word & STATE_MASK) !== STATE.vacant) return false;
    return this.#exchange(word, wordOf(word >> TENURE_SHIFT, STATE.closed));
  }

  /** Closes the stock for good. Returns whether it was open. */
  close(): boolean {
    for (;;) {
      const word = this.#word;
      if ((word & STATE_MASK) === STATE.closed) return false;
      if (this.#exchange(word, wordOf(word >> TENURE_SHIFT, STATE.closed))) return true;
    }
  }
}
