import { readFileSync, readlinkSync } from 'node:fs';
import { SharedEvent } from '../../../memory/event.ts';
import {
  FLEET_STOCK,
  LEADER_CLOSED,
  LEADER_ENTRY_BITS,
  LEADER_STATE_BITS,
  LEADER_VACANT,
} from '../../../memory/layout/fleet.ts';
import type { Region } from '../../../memory/region.ts';
import { sleepOrWake } from '../../../time/agenda.ts';
import type { Clock } from '../../../time/clock.ts';

/** The operating system's identification of a thread; all 0 if not available. */
interface OsThread {
  /** Its id. A later thread may reuse it. */
  readonly id: number;
  /** Its start time, cut to 32 bits, to detect a reused id. */
  readonly started: number;
}

/** Index in `/proc/self/task/N/stat`, counted from the field after the name. */
const STARTED_FIELD = 19;

function startOf(id: number): number {
  const stat = readFileSync(`/proc/self/task/${id}/stat`, 'latin1');
  // The name may contain parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[STARTED_FIELD]) | 0;
}

export function ownOsThread(): OsThread {
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    return { id, started: startOf(id) };
  } catch {
    return { id: 0, started: 0 };
  }
}

/** Whether a thread of this process may still run; undefined if the system can't tell. */
export function doesRun({ id, started }: OsThread): boolean | undefined {
  if (id === 0) return undefined;
  try {
    return startOf(id) === started;
  } catch (error) {
    // Other errors, such as too many open files, say nothing about the thread.
    const { code } = error as NodeJS.ErrnoException;
    return code !== 'ENOENT' && code !== 'ESRCH';
  }
}

/**
 * Wakes the buyer: any thread can fire it. A resting buyer does not keep the event loop alive;
 * callers that wait for tokens do.
 */
class BuyerEvent extends SharedEvent {
  #heard = this.observe();

  /** Resolves when the event has fired since the last rest, or when the clock reaches `untilUs`. */
  async rest(clock: Clock, untilUs: number): Promise<void> {
    const listen = (wake: () => void) => this.listen(this.#heard, wake);
    // Clocks accept finite instants only.
    if (untilUs === Number.POSITIVE_INFINITY) await new Promise<void>((wake) => void listen(wake));
    else await sleepOrWake(clock, untilUs, { ref: false }, listen);
    this.#heard = this.observe();
  }
}

/** Int32 indices of the signals. */
const BUYER_AT = FLEET_STOCK.buyer >> 2;
const EVENT_AT = FLEET_STOCK.event >> 2;
const BEATS_AT = FLEET_STOCK.beats >> 2;
const THREAD_AT = FLEET_STOCK.thread >> 2;
const STARTED_AT = FLEET_STOCK.started >> 2;

/** The state of the buyer, in the low bits of its word. The high bits are the epoch. */
const STATE = {
  /** The buyer checks the stock every few milliseconds. */
  awake: 0,
  /** Nothing is spent: the first spend wakes the buyer. */
  asleep: 1,
  /** The stock is closed. */
  closed: LEADER_CLOSED,
  /** The buyer gave no sign of life: any thread with a source may replace it. */
  vacant: LEADER_VACANT,
} as const;
const STATE_MASK = 2 ** LEADER_STATE_BITS - 1;
/** An epoch consists of a number and, in the low bits, the entry of the buyer's process. */
const ENTRY_MASK = 2 ** LEADER_ENTRY_BITS - 1;

function wordOf(epoch: number, state: number): number {
  return (epoch << LEADER_STATE_BITS) | state;
}

function epochIn(word: number): number {
  return word >> LEADER_STATE_BITS;
}

/** Whether the word is that of an epoch in progress. */
function isHeld(word: number, epoch: number): boolean {
  const state = word & STATE_MASK;
  return epochIn(word) === epoch && state !== STATE.closed && state !== STATE.vacant;
}

/**
 * Elects the thread that buys for a stock: one at a time, for an epoch. Every change of the word
 * checks the epoch, so a replaced leader can't change anything.
 */
export class Leader {
  /** Wakes the buyer and asks it for a sign of life. */
  readonly event: BuyerEvent;
  readonly #signals: Int32Array<SharedArrayBuffer>;
  readonly #region: Region | undefined;

  /** @param region the region of a stock with a name */
  constructor(signals: Int32Array<SharedArrayBuffer>, region?: Region) {
    this.#signals = signals;
    this.#region = region;
    this.event = new BuyerEvent(signals, EVENT_AT, region);
  }

  /** The entry of this process in a region that several share; 0 in any other. */
  get #entry(): number {
    return this.#region?.sharing?.process ?? 0;
  }

  /** The entry in this thread's epochs: 0 if it shares another's, whose end is not its own. */
  get #epochEntry(): number {
    return this.#region?.sharing?.hasLeft === undefined ? 0 : this.#entry;
  }

  get #word(): number {
    return Atomics.load(this.#signals, BUYER_AT);
  }

  #exchange(from: number, to: number): boolean {
    return Atomics.compareExchange(this.#signals, BUYER_AT, from, to) === from;
  }

  /** Changes the word, again if another thread is faster, unless there is no next one. */
  #change(nextOf: (word: number) => number | undefined): boolean {
    for (;;) {
      const word = this.#word;
      const next = nextOf(word);
      if (next === undefined) return false;
      if (this.#exchange(word, next)) return true;
    }
  }

  get isClosed(): boolean {
    return (this.#word & STATE_MASK) === STATE.closed;
  }

  get isVacant(): boolean {
    return (this.#word & STATE_MASK) === STATE.vacant;
  }

  isHeldBy(epoch: number): boolean {
    return isHeld(this.#word, epoch);
  }

  /** Opens a new stock without a leader, before other threads know it. */
  open(): void {
    Atomics.store(this.#signals, BUYER_AT, STATE.vacant);
  }

  /** Becomes the leader if there is none. Returns the epoch. */
  claim(): number | undefined {
    const word = this.#word;
    if ((word & STATE_MASK) !== STATE.vacant) return undefined;
    const number = (epochIn(word) >> LEADER_ENTRY_BITS) + 1;
    const next = wordOf((number << LEADER_ENTRY_BITS) | this.#epochEntry, STATE.awake);
    // Read before the exchange: after it, the last buyer's thread counts as this epoch's.
    const { id, started } = ownOsThread();
    if (!this.#exchange(word, next)) return undefined;
    Atomics.store(this.#signals, THREAD_AT, id);
    Atomics.store(this.#signals, STARTED_AT, started);
    this.beat();
    return epochIn(next);
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
    const entry = epochIn(this.#word) & ENTRY_MASK;
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

  get epoch(): number {
    return epochIn(this.#word);
  }

  /**
   * Ends the epoch of a buyer that gives no sign of life. Read the epoch before the signs: a
   * successor may have come since.
   */
  vacate(epoch: number): void {
    const vacant = wordOf(epoch, STATE.vacant);
    if (this.#change((word) => (isHeld(word, epoch) ? vacant : undefined))) this.event.fire();
  }

  /**
   * Ends an epoch on behalf of its buyer, which won't return, even if it was declared vacant before.
   * Without a successor, the stock is closed later.
   */
  resign(epoch: number): void {
    const vacant = wordOf(epoch & ~ENTRY_MASK, STATE.vacant);
    const isLast = (word: number) =>
      epochIn(word) === epoch && (word & STATE_MASK) !== STATE.closed;
    if (!this.#change((word) => (isLast(word) ? vacant : undefined))) return;
    // A successor may have stored its own thread by now.
    Atomics.compareExchange(this.#signals, THREAD_AT, ownOsThread().id, 0);
    this.event.fire();
  }

  /** Makes spends wake the buyer. */
  lieDown(epoch: number): void {
    this.#exchange(wordOf(epoch, STATE.awake), wordOf(epoch, STATE.asleep));
  }

  /** Makes spends stop waking the buyer. */
  getUp(epoch: number): void {
    this.#exchange(wordOf(epoch, STATE.asleep), wordOf(epoch, STATE.awake));
  }

  /** Wakes the buyer if it is asleep. Returns whether the stock is still open. */
  rouse(): boolean {
    const word = this.#word;
    const state = word & STATE_MASK;
    if (state === STATE.asleep && this.#exchange(word, wordOf(epochIn(word), STATE.awake))) {
      this.event.fire();
    }
    return state !== STATE.closed;
  }

  /** Closes the stock for good if it has no leader. Returns whether it did. */
  closeVacant(): boolean {
    return this.#close((state) => state === STATE.vacant);
  }

  /** Closes the stock for good. Returns whether it was open. */
  close(): boolean {
    return this.#close((state) => state !== STATE.closed);
  }

  #close(isOpen: (state: number) => boolean): boolean {
    return this.#change((word) =>
      isOpen(word & STATE_MASK) ? wordOf(epochIn(word), STATE.closed) : undefined,
    );
  }
}
