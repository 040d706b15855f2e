import type { CellPlace } from '../../memory/cell.ts';
import { ENTRY, HIGH_HALF, KEYED, LOW_HALF } from '../../memory/layout.ts';
import { LATER, NEVER } from '../bucket/kernel.ts';
import { MAX_SPAN_TICKS } from '../bucket/ticks.ts';
import { readTable, WHEN_FULL } from '../keyed/cell.ts';
import {
  BEATEN,
  LIVE,
  NO_PLACE,
  NOWHERE,
  SHARED,
  stateOfOwner,
  TAG_BITS,
  TAG_MASK,
} from '../keyed/words.ts';
import { AtomicsBucket } from './bucket.ts';
import { damagedEntry, KeyClaim } from './keyed-claim.ts';
import { KeyedClock } from './keyed-clock.ts';
import { KeyTable } from './keyed-table.ts';
import { LiveLimit, LOW_UNIT, PER_LOW_UNIT } from './live-limit.ts';

/**
 * Charges the bucket of the table's key, or gives the key one. Times are split as in `bucket.ts`.
 */
export class KeyedLoop {
  readonly limit: LiveLimit;
  readonly clock: KeyedClock;
  readonly table: KeyTable;
  readonly claim: KeyClaim;
  readonly shared: AtomicsBucket;
  readonly whenFull: number;

  /** Races that this call lost over a bucket; those over an entry are counted by the claim. */
  lostRaces = 0;
  // What the last `take` left, after {@link recall}.
  lastEntry = NOWHERE;
  lastVersion = 0;
  lastWord = 0n;
  lastTicks = 0;
  /** The state that a refusal stands on; undefined if it stands on no entry's. */
  lastSeen: bigint | undefined;

  readonly #words: BigInt64Array<SharedArrayBuffer>;
  readonly #sharedAt: number;
  readonly #readClock: () => number;
  /** Splits a word into halves, and joins halves to a word. */
  readonly #split = new BigInt64Array(1);
  readonly #halves = new Int32Array(this.#split.buffer);

  /** `readClock` is asked only where a call's `now` turns out to be old. */
  constructor(place: CellPlace, readClock: () => number, looks?: number) {
    const { originUs, whenFull } = readTable(place);
    this.#words = place.region.i64;
    this.#sharedAt = (place.offset + KEYED.shared) >> 3;
    this.whenFull = whenFull;
    // The limit never changes; only the shared bucket's origin is renewed over the years.
    this.limit = new LiveLimit(place);
    this.clock = new KeyedClock(originUs, this.limit.schedule);
    this.table = new KeyTable(place);
    this.claim = new KeyClaim(place, this.table, looks);
    this.shared = new AtomicsBucket(place, false);
    this.#readClock = readClock;
  }

  /** Starts a call. */
  begin(nowUs: number): void {
    this.clock.set(nowUs);
    this.table.probes = 0;
    this.claim.begin();
    this.lostRaces = 0;
  }

  /** Calls whose key found no place. */
  withoutPlace(): number {
    return Number(Atomics.load(this.#words, this.#sharedAt));
  }

  /** Starts a call that only takes. */
  beginTake(nowUs: number): void {
    this.begin(nowUs);
  }

  /**
   * Takes tokens of the key: microseconds to wait, `LATER` or `NEVER`. After {@link beginTake}. With
   * `from` only if an entry's state is still that one; otherwise it is refused, too.
   */
  take(nowUs: number, tokens: number, maxWaitUs: number, from?: bigint): number {
    const wait = this.takeOwn(nowUs, tokens, maxWaitUs, from);
    return wait === NO_PLACE ? this.#withoutPlace(nowUs, tokens, maxWaitUs) : wait;
  }

  /** Fetches what the last `take` left. */
  recall(): void {}

  /** `NO_PLACE`, beside what {@link take} returns. */
  protected takeOwn(nowUs: number, tokens: number, maxWaitUs: number, from?: bigint): number {
    const limit = this.limit;
    if (tokens !== limit.tokens) limit.price(tokens);
    const { costHigh, costLow, capHigh, capLow, ticksPerMicro } = limit;
    this.lastEntry = NOWHERE;
    this.lastSeen = undefined;
    if (costHigh === 0 && costLow === 0) return 0;
    if ((costHigh - capHigh) * LOW_UNIT + (costLow - capLow) > 0) return NEVER;
    const span = Math.min(MAX_SPAN_TICKS, this.clock.ticksLeft);
    const maxWait = maxWaitUs === 0 ? 0 : Math.min(Math.round(maxWaitUs * ticksPerMicro), span);
    for (;;) {
      const entry = this.table.find();
      const wait = entry >= 0 ? this.#charge(entry, maxWait, from) : this.#insert(maxWait);
      if (wait > 0) return wait / ticksPerMicro + (this.clock.nowUs - nowUs);
      if (wait !== BEATEN) return wait;
    }
  }

  /** Charges the key's bucket: ticks to wait, `LATER` or `BEATEN`. */
  #charge(entry: number, maxWait: number, from: bigint | undefined): number {
    const words = this.#words;
    const table = this.table;
    const split = this.#split;
    const halves = this.#halves;
    const { costHigh, costLow, costWord, capHigh, capLow } = this.limit;
    const { high: nowHigh, low: nowLow } = this.clock;
    const at = entry + ENTRY.state;
    const version = table.versionOf(entry);
    if (version === 0) return BEATEN;
    let state = Atomics.load(words, at);
    for (;;) {
      split[0] = state;
      const low = halves[LOW_HALF] as number; // one word
      const high = halves[HIGH_HALF] as number;
      // Live, and of this version.
      if (((low ^ (version << 1)) & TAG_MASK) !== LIVE) return this.#lost(entry, version, low);
      // The zero-time, seen from now.
      let aheadHigh = high - nowHigh;
      let aheadLow = (low >>> TAG_BITS) - nowLow;
      const full = (aheadHigh + capHigh) * LOW_UNIT + (aheadLow + capLow) < 0;
      if (full) {
        aheadHigh = -capHigh;
        aheadLow = -capLow;
      }
      const due = (aheadHigh + costHigh) * LOW_UNIT + (aheadLow + costLow);
      if (due > maxWait || (from !== undefined && state !== from)) {
        const again = Atomics.load(words, at);
        split[0] = again;
        if (halves[LOW_HALF] === low && halves[HIGH_HALF] === high) {
          if (table.versionOf(entry) !== version) return BEATEN;
          this.lastSeen = state;
          this.lastTicks = 0 - (aheadHigh * LOW_UNIT + aheadLow);
          return LATER;
        }
        state = again;
        continue;
      }
      const next = full
        ? this.#fullAndCharged(low & TAG_MASK)
        : BigInt.asIntN(64, state + costWord);
      const seen = Atomics.compareExchange(words, at, state, next);
      split[0] = seen;
      if (halves[LOW_HALF] === low && halves[HIGH_HALF] === high) {
        if (table.versionOf(entry) !== version) {
          // Reclaimed meanwhile: this charged another key's bucket. If somebody has charged it
          // since, then that key has lost the tokens; none are admitted for them.
          Atomics.compareExchange(words, at, next, state);
          this.lostRaces++;
          return BEATEN;
        }
        this.lastEntry = entry;
        this.lastVersion = version;
        this.lastWord = next;
        this.lastTicks = 0 - due;
        return Math.max(due, 0);
      }
      this.lostRaces++;
      state = seen;
    }
  }

  /** The state is not one of this version's owner. */
  #lost(entry: number, version: number, state: number): number {
    // While a live entry has one identity, its states are of that version.
    if ((state & LIVE) !== 0 && this.table.versionOf(entry) === version) throw damagedEntry();
    return BEATEN;
  }

  /** The state of a bucket that was full until this call. */
  #fullAndCharged(tag: number): bigint {
    const { costHigh, costLow, capHigh, capLow } = this.limit;
    const { high, low } = this.clock;
    const sum = low - capLow + costLow;
    const carry = Math.floor(sum * PER_LOW_UNIT);
    // The shift leaves 29 bits of it.
    this.#halves[LOW_HALF] = (sum << TAG_BITS) | tag;
    this.#halves[HIGH_HALF] = high - capHigh + costHigh + carry;
    return this.#split[0] as bigint; // one word
  }

  /** Gives the key a bucket and charges it: ticks to wait, `LATER`, `BEATEN` or `NO_PLACE`. */
  #insert(maxWait: number): number {
    const entry = this.claim.take(this.clock.floor);
    // What left no place may be the key's own by now, from another thread.
    if (entry === NO_PLACE && this.table.find() !== NO_PLACE) return BEATEN;
    if (entry < 0) return entry;
    const version = this.table.versionOf(entry);
    const before = this.stateAtFirstSight();
    const state = stateOfOwner(version, BigInt.asIntN(64, before + this.limit.costWord));
    const due = this.clock.ticksUntil(state);
    if (due > maxWait) {
      this.claim.leave(entry);
      this.lastTicks = 0 - this.clock.ticksUntil(before);
      return LATER;
    }
    if (!this.claim.commit(entry, state)) return BEATEN;
    this.lastEntry = entry;
    this.lastVersion = version;
    this.lastWord = state;
    this.lastTicks = 0 - due;
    return Math.max(due, 0);
  }

  /**
   * The bucket of a key that has none: full, unless the clock was set back since a bucket was
   * reclaimed. That bucket may have been this key's.
   */
  stateAtFirstSight(): bigint {
    const forgotten = this.claim.forgotten();
    const { floor } = this.clock;
    if (forgotten <= floor) return floor;
    // Another thread has read a later time than this call did: then it is later. Unless the clock
    // was set back; a call does not follow it.
    this.clock.set(Math.max(this.clock.nowUs, this.#readClock()));
    const later = this.clock.floor;
    return forgotten > later ? forgotten : later;
  }

  #withoutPlace(nowUs: number, tokens: number, maxWaitUs: number): number {
    Atomics.add(this.#words, this.#sharedAt, 1n);
    if (this.whenFull === WHEN_FULL.share) {
      const wait = this.shared.acquire(nowUs, tokens, maxWaitUs);
      this.lastEntry = SHARED;
      this.lastTicks = this.shared.lastTicks;
      this.lostRaces += this.shared.lostRaces;
      return wait;
    }
    this.lastTicks = this.ticksWithoutPlace();
    return this.whenFull === WHEN_FULL.admit ? 0 : LATER;
  }

  /** What a key without a place can have, where such keys share nothing. */
  ticksWithoutPlace(): number {
    return this.whenFull === WHEN_FULL.admit ? Number(this.limit.schedule.capTicks) : 0;
  }
}
