import type { CellPlace } from '../../memory/cell.ts';
import { ENTRY, HIGH_HALF, KEYED, LOW_HALF } from '../../memory/layout.ts';
import { readTable } from '../keyed/cell.ts';
import {
  AT_FIRST_HOME,
  isLive,
  LIVE,
  NO_PLACE,
  OWNERS,
  VERSION_BITS,
  VERSION_MASK,
  WINDOW,
} from '../keyed/words.ts';

/**
 * Finds a key's entry. Entries are named by the Int64 index of their identity word. How an entry
 * becomes a key's is in `keyed-claim.ts`; both are proved in docs/algorithms-keyed.md.
 */
export class KeyTable {
  readonly words: BigInt64Array<SharedArrayBuffer>;
  /** The most entries that a call may look at. */
  readonly window: number;
  /** The first entry of the key's window. */
  home = 0;
  #secondHome = 0;
  /** The key's hash. */
  hashHigh = 0;
  hashLow = 0;
  /** What an identity of the key has in its halves, but for the version. */
  high = 0;
  low = 0;
  /** How many entries of the window this call has looked at. */
  probes = 0;

  readonly #i32: Int32Array<SharedArrayBuffer>;
  readonly #start: number;
  readonly #end: number;
  readonly #perHash: number;
  /** The probe after which the window goes on at the second home. */
  readonly #lastAtHome: number;
  readonly #split = new BigInt64Array(1);
  readonly #halves = new Int32Array(this.#split.buffer);

  constructor(place: CellPlace) {
    const { region, offset } = place;
    const { entries } = readTable(place);
    this.words = region.i64;
    this.window = Math.min(WINDOW, entries);
    this.#i32 = region.i32;
    this.#start = (offset + KEYED.table) >> 3;
    this.#end = this.#start + entries * ENTRY.step;
    this.#perHash = entries / 2 ** 32;
    // A small table is one window.
    this.#lastAtHome = entries > WINDOW ? AT_FIRST_HOME : WINDOW;
  }

  /** Turns to the key of this hash. */
  seek(high: number, low: number): void {
    this.hashHigh = high;
    this.hashLow = low;
    this.home = this.#start + Math.floor(low * this.#perHash) * ENTRY.step;
    this.#secondHome = this.#start + Math.floor(high * this.#perHash) * ENTRY.step;
    this.high = high | 0;
    this.low = (low << VERSION_BITS) & ~VERSION_MASK;
  }

  /** The entry of the window after this one, which is its `probe`-th. The halves may overlap. */
  next(entry: number, probe: number): number {
    if (probe === this.#lastAtHome) return this.#secondHome;
    const next = entry + ENTRY.step;
    return next === this.#end ? this.#start : next;
  }

  /** Whether the window came by its `probe`-th entry before: its halves may overlap. */
  isRepeated(entry: number, probe: number): boolean {
    if (probe <= this.#lastAtHome) return false;
    const ahead = entry - this.home;
    return (ahead < 0 ? ahead + this.#end - this.#start : ahead) < AT_FIRST_HOME * ENTRY.step;
  }

  /** Notes that so many entries of the window were looked at. */
  saw(probe: number): void {
    if (probe > this.probes) this.probes = probe;
  }

  /**
   * The key's live entry, or `NO_PLACE`. It may overlook one that another thread writes at the same
   * time; a claim will not.
   */
  find(): number {
    const i32 = this.#i32;
    const { high, low, window } = this;
    let entry = this.home;
    for (let probe = 1; probe <= window; probe++) {
      // Plain loads are enough to pass the entries of other keys.
      const half = entry << 1;
      const entryHigh = i32[half + HIGH_HALF] as number; // never out of bounds: the cell was checked
      const entryLow = i32[half + LOW_HALF] as number;
      if (entryHigh === high && (entryLow & ~VERSION_MASK) === low) {
        if ((this.stateOf(entry) & LIVE) !== 0) {
          this.saw(probe);
          return entry;
        }
      } else if ((entryHigh | entryLow) === 0 && this.stateOf(entry) === 0) {
        // Entries are given out in the order of the probe, so the key's can't be further on.
        this.saw(probe);
        return NO_PLACE;
      }
      entry = this.next(entry, probe);
    }
    this.saw(window);
    return NO_PLACE;
  }

  /** The low half of an entry's state; 0 if it was never used. */
  stateOf(entry: number): number {
    this.#split[0] = Atomics.load(this.words, entry + ENTRY.state);
    return this.#halves[LOW_HALF] as number; // one word
  }

  /**
   * The low half of an entry's identity, which is another for every owner; 0 if the entry is not
   * this key's.
   */
  versionOf(entry: number): number {
    this.#split[0] = Atomics.load(this.words, entry + ENTRY.identity);
    const low = this.#halves[LOW_HALF] as number; // one word
    const isKeys = this.#halves[HIGH_HALF] === this.high && (low & ~VERSION_MASK) === this.low;
    return isKeys ? low : 0;
  }

  /** Whether an entry may be the key's, or was never used; both show in its identity. */
  isOfInterest(entry: number): boolean {
    this.#split[0] = Atomics.load(this.words, entry + ENTRY.identity);
    const low = this.#halves[LOW_HALF] as number; // one word
    const high = this.#halves[HIGH_HALF] as number;
    return (high === this.high && (low & ~VERSION_MASK) === this.low) || (high | low) === 0;
  }

  /** Whether an entry still has the owner whose identity had these halves. */
  isOwned(entry: number, high: number, version: number): boolean {
    this.#split[0] = Atomics.load(this.words, entry + ENTRY.identity);
    return this.#halves[LOW_HALF] === version && this.#halves[HIGH_HALF] === high;
  }

  /** What the key's next identity in place of `identity` is. */
  identityAfter(identity: bigint): bigint {
    this.#split[0] = identity;
    const version = ((this.#halves[LOW_HALF] as number) + 1) & VERSION_MASK;
    // Never 0, so that no identity is 0; the end of it goes on counting.
    this.#halves[LOW_HALF] = this.low | (version || OWNERS);
    this.#halves[HIGH_HALF] = this.high;
    return this.#split[0] as bigint; // one word
  }

  /** Whether the key would find a place; a bucket whose state is at most `floor` is full. */
  hasRoom(floor: bigint): boolean {
    let entry = this.home;
    for (let probe = 1; probe <= this.window; probe++) {
      const state = Atomics.load(this.words, entry + ENTRY.state);
      if (!isLive(state) || state <= floor) return true;
      entry = this.next(entry, probe);
    }
    return false;
  }

  /** Buckets that are not full. */
  count(floor: bigint): number {
    let count = 0;
    for (let entry = this.#start; entry < this.#end; entry += ENTRY.step) {
      const state = Atomics.load(this.words, entry + ENTRY.state);
      if (state > floor && isLive(state)) count++;
    }
    return count;
  }
}
