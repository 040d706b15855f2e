import { HandleError } from '../../errors.ts';
import type { CellPlace } from '../../memory/cell.ts';
import { ENTRY, KEYED } from '../../memory/layout.ts';
import {
  BEATEN,
  BLOCK_BITS,
  FREE,
  isHeld,
  isLive,
  NAMED,
  NO_PLACE,
  PATIENCE,
  TAG_BITS,
  TRANSIT,
  tagOf,
} from '../keyed/words.ts';
import type { KeyTable } from './keyed-table.ts';

export function damagedEntry(): HandleError {
  return new HandleError('ERR_REGION_DAMAGED', 'an entry of the table makes no sense');
}

/**
 * Makes entries a key's, in five steps: take (the entry is in transit, under a ticket that nobody
 * else ever has), publish (write the identity), name (say so in the state), look for rivals, commit.
 * Only a commit admits, and it fails if the ticket is no longer there. What is named can be finished
 * by any thread. docs/algorithms-keyed.md proves that no key ever has two live entries, and that
 * some thread always gets on.
 */
export class KeyClaim {
  /** Races lost since {@link begin}. */
  lostRaces = 0;

  readonly #table: KeyTable;
  readonly #words: BigInt64Array<SharedArrayBuffer>;
  readonly #forgottenAt: number;
  readonly #blocksAt: number;
  readonly #reclaimedAt: number;
  readonly #looks: number;
  /** The state of an entry in transit that this call waits for, and the looks that are left. */
  #awaited = 0n;
  #patience = 0;
  /** Not once this call has done so, or has lost an entry: two could do it in turns for ever. */
  #mayTakeOver = true;
  /** The state of the entry that this thread holds. */
  #held = 0n;
  #ticket = 0n;
  #ticketsLeft = 0;

  /** `looks` is how patient it is with another thread: few of them can be explored exhaustively. */
  constructor({ offset }: CellPlace, table: KeyTable, looks = PATIENCE) {
    this.#table = table;
    this.#words = table.words;
    this.#forgottenAt = (offset + KEYED.forgotten) >> 3;
    this.#blocksAt = (offset + KEYED.ticketBlocks) >> 3;
    this.#reclaimedAt = (offset + KEYED.reclaimed) >> 3;
    this.#looks = looks;
  }

  /** Starts a call. */
  begin(): void {
    this.lostRaces = 0;
    this.#awaited = 0n;
    this.#mayTakeOver = true;
  }

  /**
   * Takes an entry for the table's key, which has none, as far as was seen. The entry is named then,
   * until {@link commit} or {@link leave}. Returns `NO_PLACE`, or `BEATEN` to look again.
   *
   * @param floor the state of a bucket that is just full
   */
  take(floor: bigint): number {
    const { window, home } = this.#table;
    let entry = home;
    let held = NO_PLACE;
    let heldBy = 0n;
    for (let probe = 1; probe <= window; probe++) {
      this.#table.saw(probe);
      const state = Atomics.load(this.#words, entry + ENTRY.state);
      if (state === 0n || state === FREE) return this.#claim(entry, state);
      if (isLive(state)) {
        if (state <= floor) return this.#reclaim(entry, state, floor);
      } else if (!isHeld(state)) {
        throw damagedEntry();
      } else if (tagOf(state) === NAMED && this.#table.versionOf(entry) !== 0) {
        return this.#adopt(entry, state);
      } else if (held === NO_PLACE) {
        held = entry;
        heldBy = state;
      }
      entry = this.#table.next(entry, probe);
    }
    return held === NO_PLACE ? NO_PLACE : this.#takeOver(held, heldBy);
  }

  #reclaim(entry: number, state: bigint, floor: bigint): number {
    // First, so that whoever sees that the bucket is gone can see how far it may have been charged.
    this.#forget(state, floor);
    return this.#claim(entry, state);
  }

  /** Another thread gives the entry to this very key: whichever commits first, the key has it. */
  #adopt(entry: number, state: bigint): number {
    this.#held = state;
    return this.#settle(entry);
  }

  /** After many looks: the entry's thread sleeps or was terminated. Without its ticket it can't commit. */
  #takeOver(entry: number, state: bigint): number {
    if (state !== this.#awaited) {
      this.#awaited = state;
      this.#patience = this.#looks;
    }
    if (this.#patience-- > 0) return BEATEN;
    return this.#mayTakeOver ? this.#claim(entry, state) : NO_PLACE;
  }

  #claim(entry: number, state: bigint): number {
    const ticket = this.#nextTicket();
    if (!this.#exchange(entry, state, ticket)) {
      this.lostRaces++;
      return BEATEN;
    }
    this.#held = ticket;
    if (isLive(state)) Atomics.add(this.#words, this.#reclaimedAt, 1n);
    else if (isHeld(state)) this.#mayTakeOver = false;
    this.#publish(entry);
    return this.#name(entry) ? this.#settle(entry) : this.#overtaken();
  }

  #settle(entry: number): number {
    if (this.#isAlone(entry)) return entry;
    this.lostRaces++;
    return BEATEN;
  }

  #exchange(entry: number, from: bigint, to: bigint): boolean {
    return Atomics.compareExchange(this.#words, entry + ENTRY.state, from, to) === from;
  }

  /** Another thread has taken this one's entry, or freed it, or was the first to finish it. */
  #overtaken(): number {
    this.lostRaces++;
    this.#mayTakeOver = false;
    return BEATEN;
  }

  #nextTicket(): bigint {
    if (this.#ticketsLeft === 0) {
      const block = Atomics.add(this.#words, this.#blocksAt, 1n);
      const first = block << BigInt(BLOCK_BITS + TAG_BITS);
      this.#ticket = BigInt.asIntN(64, first) | BigInt(TRANSIT);
      this.#ticketsLeft = 2 ** BLOCK_BITS;
    } else {
      this.#ticket += 1n << BigInt(TAG_BITS);
    }
    this.#ticketsLeft--;
    return this.#ticket;
  }

  #forget(state: bigint, floor: bigint): void {
    for (;;) {
      const forgotten = this.forgotten();
      if (forgotten >= state) return;
      const seen = Atomics.compareExchange(this.#words, this.#forgottenAt, forgotten, floor);
      if (seen === forgotten) return;
    }
  }

  /** No bucket that was ever forgotten had a higher state than this. */
  forgotten(): bigint {
    return Atomics.load(this.#words, this.#forgottenAt);
  }

  /** Entries taken from buckets that were full. */
  reclaimed(): number {
    return Number(Atomics.load(this.#words, this.#reclaimedAt));
  }

  /** Writes the key into the entry taken, unless another thread has taken it over. */
  #publish(entry: number): void {
    for (;;) {
      const identity = Atomics.load(this.#words, entry + ENTRY.identity);
      // Looked at after the identity: whoever holds the entry next changes the identity before it
      // commits, and then this exchange fails.
      if (Atomics.load(this.#words, entry + ENTRY.state) !== this.#held) return;
      const next = this.#table.identityAfter(identity);
      const at = entry + ENTRY.identity;
      if (Atomics.compareExchange(this.#words, at, identity, next) === identity) return;
    }
  }

  /** Tells the other threads whose the entry is going to be; false if another has taken it over. */
  #name(entry: number): boolean {
    const ticket = this.#held;
    this.#held = ticket | BigInt(NAMED);
    return this.#exchange(entry, ticket, this.#held);
  }

  /**
   * Looks for another entry of the key. Of two threads that name the same key, the later one sees
   * the other's entry; where both do, the one that comes first in the window wins. Leaves the entry
   * if it has lost. An entry that the window comes by again is not judged twice: it would come after
   * this one then.
   */
  #isAlone(mine: number): boolean {
    const { window, home } = this.#table;
    let isBefore = true;
    let entry = home;
    for (let probe = 1; probe <= window; probe++) {
      this.#table.saw(probe);
      if (entry === mine) isBefore = false;
      const isNew = entry !== mine && !this.#table.isRepeated(entry, probe);
      while (isNew && this.#table.isOfInterest(entry)) {
        const state = Atomics.load(this.#words, entry + ENTRY.state);
        // No entry is given out beyond one that was never used.
        if (state === 0n) return true;
        const live = isLive(state);
        if (this.#table.versionOf(entry) === 0 || (!live && tagOf(state) !== NAMED)) break;
        if (live || isBefore) {
          this.leave(mine);
          return false;
        }
        // If the exchange fails the other has committed or given up: look at it again.
        if (this.#exchange(entry, state, FREE)) break;
      }
      entry = this.#table.next(entry, probe);
    }
    return true;
  }

  /** Makes the entry taken last the key's own, in its first state; false if it was taken over. */
  commit(entry: number, state: bigint): boolean {
    if (this.#exchange(entry, this.#held, state)) return true;
    this.#overtaken();
    return false;
  }

  /** Gives the entry taken last to anybody. */
  leave(entry: number): void {
    this.#exchange(entry, this.#held, FREE);
  }
}
