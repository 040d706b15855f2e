import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { COUNTER, ENTRY } from '../../memory/layout.ts';
import { NEVER, type Receipt, type TokenKernel, type Verdict } from '../bucket/kernel.ts';
import { tokensOf, untilHeld } from '../bucket/record.ts';
import { type Schedule, ticksOf } from '../bucket/schedule.ts';
import { Counters } from '../counters.ts';
import { WHEN_FULL } from '../keyed/cell.ts';
import type { KeyedStats } from '../keyed/stats.ts';
import { isLive, NOWHERE, SHARED, stateOfOwner, TAG_BITS } from '../keyed/words.ts';
import { lower, type Owned } from './keyed-adjust.ts';
import type { KeyedLoop } from './keyed-loop.ts';
import type { KeyTable } from './keyed-table.ts';

/** What was charged, and for whom. */
interface KeyedReceipt extends Receipt, Owned {}

/**
 * The buckets of a table: two 64-bit words for each. {@link seek} turns to a key; every other
 * operation is on that key's bucket. Taking is up to the loop, which may be compiled.
 */
export class KeyedBuckets implements TokenKernel {
  readonly name: KernelName;
  readonly #words: BigInt64Array<SharedArrayBuffer>;
  readonly #loop: KeyedLoop;
  readonly #table: KeyTable;
  readonly #counters: Counters | undefined;

  constructor(place: CellPlace, loop: KeyedLoop, name: KernelName) {
    this.name = name;
    this.#words = place.region.i64;
    this.#loop = loop;
    this.#table = loop.table;
    this.#counters = Counters.open(place);
  }

  /** Turns to the key of this hash. */
  seek(high: number, low: number): void {
    this.#table.seek(high, low);
  }

  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    this.#loop.beginTake(nowUs);
    const wait = this.#loop.take(nowUs, tokens, maxWaitUs);
    this.#count(wait < 0 ? 0 : tokens, wait < 0);
    return wait;
  }

  #count(admitted: number, refused: boolean): void {
    const counters = this.#counters;
    if (counters === undefined) return;
    this.#loop.recall();
    const { claim, table, lostRaces } = this.#loop;
    counters.count(admitted, refused, lostRaces + claim.lostRaces);
    counters.raise(COUNTER.longestProbe, table.probes);
  }

  decide(nowUs: number, tokens: number): Verdict {
    const wait = this.acquire(nowUs, tokens, 0);
    this.#loop.recall();
    const limit = this.#loop.limit;
    const { schedule } = limit;
    const wanted = Number(limit.costWord >> BigInt(TAG_BITS));
    const held = wait === NEVER || wanted === 0 ? this.#look(nowUs) : this.#loop.lastTicks;
    return {
      allowed: wait === 0,
      burst: schedule.burst,
      balance: tokensOf(schedule, held),
      retryUs: wait === 0 ? 0 : untilHeld(limit, nowUs, held, wanted),
      fullUs: untilHeld(limit, nowUs, held, Number(schedule.capTicks)),
    };
  }

  drain(nowUs: number, tokens: number): number {
    this.#loop.beginTake(nowUs);
    const { ticksPerToken, burst } = this.schedule();
    const asked = Math.floor(tokens);
    const all = Math.min(asked, Math.floor(burst));
    let most = all;
    let from: bigint | undefined;
    // A refusal tells how many there are, and these are taken unless something has changed since.
    while (most > 0 && this.#loop.take(nowUs, most, 0, from) !== 0) {
      this.#loop.recall();
      const { lastSeen, lastTicks } = this.#loop;
      const isNew = from !== undefined && lastSeen !== from;
      most = Math.min(isNew ? all : most - 1, Math.floor(lastTicks / ticksPerToken));
      from = lastSeen;
    }
    const taken = Math.max(most, 0);
    this.#count(taken, taken === 0 && asked > 0);
    return taken;
  }

  /** Tokens of a key that has no bucket lapse: they may have been the shared bucket's. */
  refund(nowUs: number, tokens: number): void {
    this.#loop.begin(nowUs);
    const table = this.#table;
    const amount = ticksOf(tokens, this.schedule().ticksPerToken, Math.floor) << BigInt(TAG_BITS);
    for (;;) {
      const entry = table.find();
      if (entry < 0) return;
      const version = table.versionOf(entry);
      const state = Atomics.load(this.#words, entry + ENTRY.state);
      if (version === 0 || !isLive(state)) continue;
      const floor = this.#loop.stateAtFirstSight();
      if (state <= floor) return;
      const to = state - amount > floor ? state - amount : stateOfOwner(version, floor);
      if (lower(table, { entry, high: table.high, version }, state, to)) return;
    }
  }

  receipt(): Receipt {
    this.#loop.recall();
    if (this.#loop.lastEntry === SHARED) {
      const { word, cost } = this.#loop.shared.receipt();
      return { word, cost, entry: SHARED } as KeyedReceipt;
    }
    const receipt: KeyedReceipt = {
      word: this.#loop.lastWord,
      cost: this.#loop.limit.costWord,
      entry: this.#loop.lastEntry,
      high: this.#table.high,
      version: this.#loop.lastVersion,
    };
    return receipt;
  }

  cancel(receipt: Receipt): boolean {
    const owned = receipt as KeyedReceipt; // this kernel gives no others
    const { word, cost, entry } = owned;
    if (entry === SHARED) return this.#loop.shared.cancel(receipt);
    if (entry === NOWHERE) return cost === 0n;
    return lower(this.#table, owned, word, BigInt.asIntN(64, word - cost));
  }

  balance(nowUs: number): number {
    return tokensOf(this.schedule(), this.#look(nowUs));
  }

  timeUntil(nowUs: number, tokens: number): number {
    const held = this.#look(nowUs);
    const wanted = ticksOf(tokens, this.schedule().ticksPerToken, Math.ceil);
    return untilHeld(this.#loop.limit, nowUs, held, Number(wanted));
  }

  /** What the key's bucket holds, in ticks; a key that has none is not given one. */
  #look(nowUs: number): number {
    this.#loop.begin(nowUs);
    const table = this.#table;
    const clock = this.#loop.clock;
    for (;;) {
      const entry = table.find();
      if (entry < 0) {
        if (table.hasRoom(clock.floor)) return 0 - clock.ticksUntil(this.#loop.stateAtFirstSight());
        // What left no room may be the key's own by now.
        if (table.find() < 0) break;
        continue;
      }
      const version = table.versionOf(entry);
      const state = Atomics.load(this.#words, entry + ENTRY.state);
      if (version === 0 || !isLive(state) || table.versionOf(entry) !== version) continue;
      return 0 - clock.ticksUntil(state > clock.floor ? state : clock.floor);
    }
    if (this.#loop.whenFull !== WHEN_FULL.share) return this.#loop.ticksWithoutPlace();
    this.#loop.shared.acquire(nowUs, 0, 0);
    return this.#loop.shared.lastTicks;
  }

  schedule(): Schedule {
    return this.#loop.limit.schedule;
  }

  stats(nowUs: number): KeyedStats {
    this.#loop.clock.set(nowUs);
    const counters = this.#counters;
    return {
      entries: this.#table.count(this.#loop.clock.floor),
      reclaimed: this.#loop.claim.reclaimed(),
      shared: this.#loop.withoutPlace(),
      ...(counters && { ...counters.sum(), longestProbe: counters.max(COUNTER.longestProbe) }),
    };
  }
}
