import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { COUNTER, KEYED } from '../../memory/layout.ts';
import { raiseDouble } from '../../memory/shared-double.ts';
import { failTable, numbersOf } from '../bucket/engine.ts';
import {
  AGAIN,
  BUSY,
  DAMAGED,
  type LimiterStats,
  NEVER,
  type Outcome,
  type Place,
  type Receipt,
  type TokenKernel,
} from '../bucket/kernel.ts';
import type { Schedule } from '../bucket/schedule.ts';
import { NO_PLACE } from '../constants.ts';
import { Counters } from '../counters.ts';
import type { Opened } from '../open.ts';
import { awaitClaims } from '../records.ts';
import { type NameOf, type TableLimit, unnamed } from './cell.ts';
import type { Limits } from './table-cell.ts';

/** The halves of a key's hash, and the instant of the call. Without keys, `high` is the cell. */
type TableCall = [high: number, low: number, nowUs: number];

/** The operations on a table of buckets or limit sets. Results below {@link NEVER} are failures. */
export interface TableEngine {
  acquire(...call: [...TableCall, tokens: number, maxWaitUs: number]): number;
  charge(...call: [...TableCall, tokens: number]): number;
  /** Returns 0, {@link NO_PLACE} or a failure. */
  block(...call: [...TableCall, us: number]): number;
  decide(...call: [...TableCall, tokens: number]): number;
  drain(...call: [...TableCall, tokens: number]): number;
  /** 1 if promised tokens have moved up, 0 or a failure. */
  returnTokens(...call: [...TableCall, tokens: number]): number;
  /** 1 if the bucket was filled, 0 if there is none or it is full, or a failure. */
  reset(...call: TableCall): number;
  /** NaN after a failure. */
  balance(...call: TableCall): number;
  timeUntil(...call: [...TableCall, tokens: number]): number;
  /** Claims a record for new limits as of an instant: 0 or a failure. */
  beginChange(nowUs: number): number;
  putLimit(i: number, pace: number, burst: number, ticksPerToken: number, fill: number): void;
  /** 0, {@link AGAIN} if another change was faster, or a failure. */
  publishChange(live: number): number;
  entriesInUse(nowUs: number): number;
  reclaimed(): number;
  placeless(): number;
  receiptEntry(): number;
  receiptVersion(): number;
  longestProbe(): number;
  failedExchanges(): number;
}

/** Computes new limits from those in force. */
export type Change = (inForce: Limits<Schedule>) => Limits<Schedule>;

/** Counts of a table of buckets, over all threads. */
export interface KeyedStats extends Partial<LimiterStats> {
  /** Keys whose buckets are not full. Full buckets need no entry. */
  readonly entries: number;
  /** Entries reclaimed from buckets that were full again. */
  readonly reclaimed: number;
  /** Calls whose key found no entry in the table. */
  readonly shared: number;
  /** The most entries that one call probed: at most 64. Counted with `stats: true`. */
  readonly longestProbe?: number;
}

/** New limits in ticks, and the word that names those which they are to replace. */
export interface NewLimits {
  readonly live: number;
  readonly limits: readonly TableLimit[];
}

/**
 * The operations on the selected key of a table of buckets or limit sets, or on a limit set without
 * keys. The engine does all the work except counting.
 */
export abstract class TableHost<Engine extends TableEngine> {
  readonly name: KernelName;
  protected readonly engine: Engine;
  protected readonly place: CellPlace;
  /** The halves of the selected key's hash; without keys, the cell. */
  protected high: number;
  protected low = 0;
  protected readonly counters: Counters | undefined;

  constructor({ engine, name }: Opened<Engine>, place: CellPlace) {
    this.name = name;
    this.engine = engine;
    this.place = place;
    this.high = place.offset;
    this.counters = Counters.open(place);
  }

  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    const wait = this.engine.acquire(this.high, this.low, nowUs, tokens, maxWaitUs);
    if (wait < NEVER && this.mends(wait)) return this.acquire(nowUs, tokens, maxWaitUs);
    return this.#counted(wait, tokens);
  }

  /** Takes tokens now for a call that is counted elsewhere; false if there are too few. */
  retake(nowUs: number, tokens: number): boolean {
    const wait = this.answer(() => this.engine.acquire(this.high, this.low, nowUs, tokens, 0));
    this.#probed();
    return wait === 0;
  }

  /** Counts a call of {@link retake} whose wait has ended. */
  countWait(tokens: number, isTaken: boolean): void {
    this.counters?.count(isTaken ? tokens : 0, !isTaken, 0);
  }

  charge(nowUs: number, tokens: number): number {
    const wait = this.engine.charge(this.high, this.low, nowUs, tokens);
    if (wait < NEVER && this.mends(wait)) return this.charge(nowUs, tokens);
    return this.#counted(wait, tokens);
  }

  decide(nowUs: number, tokens: number): Outcome {
    const wait = this.engine.decide(this.high, this.low, nowUs, tokens);
    if (wait < NEVER && this.mends(wait)) return this.decide(nowUs, tokens);
    return this.outcome(this.#counted(wait, tokens));
  }

  drain(nowUs: number, tokens: number): number {
    // No whole token needs no place, and no call of the engine whose lost exchanges would count.
    if (tokens < 1) {
      this.counters?.count(0, false, 0);
      return 0;
    }
    const taken = this.engine.drain(this.high, this.low, nowUs, tokens);
    if (taken < 0 && this.mends(taken)) return this.drain(nowUs, tokens);
    this.#count(taken, taken === 0);
    return taken;
  }

  /**
   * Empties the key's bucket for a time; false if the key finds no entry in the table, or nothing
   * limits it.
   */
  block(nowUs: number, us: number): boolean {
    return this.answer(() => this.engine.block(this.high, this.low, nowUs, us)) !== NO_PLACE;
  }

  /** True if promised tokens have moved up. Those for a key without a bucket lapse. */
  returnTokens(nowUs: number, tokens: number): boolean {
    return this.answer(() => this.engine.returnTokens(this.high, this.low, nowUs, tokens)) === 1;
  }

  /** Fills the key's bucket for every limit; false if there is none, or it is full. */
  reset(nowUs: number): boolean {
    return this.answer(() => this.engine.reset(this.high, this.low, nowUs)) === 1;
  }

  balance(nowUs: number): number {
    return this.number(() => this.engine.balance(this.high, this.low, nowUs));
  }

  timeUntil(nowUs: number, tokens: number): number {
    return this.answer(() => this.engine.timeUntil(this.high, this.low, nowUs, tokens));
  }

  abstract receipt(): Receipt;
  abstract cancel(receipt: Receipt): boolean;
  /** The place of the last admission, which is due at `dueUs` under the limits in force. */
  abstract position(dueUs: number): Place;
  /** All limits in force. */
  abstract schedules(): Limits<Schedule>;

  /**
   * Puts new limits in force: `change` gets the current ones, and may be called again. `at` names a
   * limit in an error.
   */
  reconfigure(readClock: () => number, change: Change, at = unnamed): void {
    this.answer(() => {
      // Before a record is claimed, because it may throw.
      const { live, limits } = this.newLimits(change, at);
      const nowUs = readClock();
      if (!Number.isFinite(nowUs)) return DAMAGED;
      const begun = this.beginChange(nowUs);
      if (begun < 0) return begun;
      for (const [i, limit] of limits.entries()) this.engine.putLimit(i, ...numbersOf(limit));
      return this.engine.publishChange(live);
    });
  }

  protected beginChange(nowUs: number): number {
    return this.engine.beginChange(nowUs);
  }

  protected abstract newLimits(change: Change, at: NameOf): NewLimits;
  /** The outcome of a decision with this wait. */
  protected abstract outcome(wait: number): Outcome;
  protected abstract readonly isKeyed: boolean;

  /** The number of races that the last call lost. */
  get failedExchanges(): number {
    return this.engine.failedExchanges();
  }

  /** The engine's own counts, and those of calls, if they are counted. */
  protected tableStats(nowUs: number): KeyedStats {
    const { counters, engine } = this;
    return {
      entries: engine.entriesInUse(nowUs),
      reclaimed: engine.reclaimed(),
      shared: engine.placeless(),
      ...(counters && {
        ...counters.sum(),
        longestProbe: Math.max(...counters.all(COUNTER.longestProbe)),
      }),
    };
  }

  /** Repeats a call as long as the cause of its failure can be removed. */
  protected answer(call: () => number): number {
    for (;;) {
      const answer = call();
      if (answer >= NEVER || answer === NO_PLACE || !this.mends(answer)) return answer;
    }
  }

  /** The same for a call that answers NaN if it fails. */
  protected number(call: () => number): number {
    for (;;) {
      const answer = call();
      if (!Number.isNaN(answer) || !this.mends(this.failure())) return answer;
    }
  }

  /** Why the last call failed, if its answer does not tell. */
  protected failure(): number {
    return DAMAGED;
  }

  /** Whether a failed call should be repeated; throws if not. */
  protected mends(failure: number): boolean {
    if (failure === NO_PLACE) return false;
    if (failure === AGAIN) return true;
    if (failure !== BUSY) failTable();
    awaitClaims(this.place, KEYED.claims);
    return true;
  }

  #counted(wait: number, tokens: number): number {
    this.#count(wait < 0 ? 0 : tokens, wait < 0);
    return wait;
  }

  #count(admitted: number, refused: boolean): void {
    this.counters?.count(admitted, refused, this.engine.failedExchanges());
    this.#probed();
  }

  #probed(): void {
    const { counters } = this;
    if (counters === undefined || !this.isKeyed) return;
    const at = counters.at(COUNTER.longestProbe);
    raiseDouble(this.place.region.i64, at, this.engine.longestProbe());
  }
}

/**
 * The operations on a table of buckets: {@link seek} selects the key for the others. The library's
 * types name this, so it names neither host nor engine.
 */
export interface KeyedKernel extends TokenKernel {
  readonly name: KernelName;
  /** The names of the tiers, from limit 1 on. */
  readonly tiers: readonly string[];
  /**
   * Selects a key by its hash, and the limit of later calls: 0 for the table's own, otherwise a
   * tier.
   */
  seek(high: number, low: number, tier?: number): void;
  /**
   * Empties the key's bucket for a time; false if the key finds no entry in the table, or nothing
   * limits it.
   */
  block(nowUs: number, us: number): boolean;
  /** Takes tokens now for a call that is counted elsewhere; false if there are too few. */
  retake(nowUs: number, tokens: number): boolean;
  /** Counts a call of {@link retake} whose wait has ended. */
  countWait(tokens: number, isTaken: boolean): void;
  /** Fills the key's bucket for every limit; false if there is none, or it is full. */
  reset(nowUs: number): boolean;
  /** The place of the last admission, which is due at `dueUs` under the limits in force. */
  position(dueUs: number): Place;
  /** All limits in force. */
  schedules(): Limits<Schedule>;
  /** Puts new limits in force: `change` gets the current ones, and may be called again. */
  reconfigure(readClock: () => number, change: Change, at?: NameOf): void;
  stats(nowUs: number): KeyedStats;
}
