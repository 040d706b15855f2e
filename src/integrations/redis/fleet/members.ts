import { TICKS_PER_MICRO } from '../../../kernel/constants.ts';
import {
  FLEET_CELL,
  FLEET_MEMBER,
  FLEET_MEMBER_BYTES,
  FLEET_MEMBERS,
  FLEET_STOCK,
  FLEET_STOCK_BYTES,
} from '../../../memory/layout/fleet.ts';
import type { Region } from '../../../memory/region.ts';
import {
  addDouble,
  exchangeDouble,
  loadDouble,
  raiseDouble,
} from '../../../memory/shared-double.ts';
import type { FleetCell } from './cell.ts';

/** BigInt64 indices in the signals. */
const ABANDONED_AT = FLEET_STOCK.abandoned >> 3;
const PASSED_ON_AT = FLEET_STOCK.passedOn >> 3;
const UNTIL_AT = FLEET_STOCK.abandonedUntil >> 3;

/** The tokens of a reservation in whole ticks of the stock's clock, so that their sums are exact. */
export function inTicks(n: number): number {
  return Math.floor(n * TICKS_PER_MICRO) / TICKS_PER_MICRO;
}

/**
 * The reservations of ended processes, in shared memory. Callers behind them get their tokens.
 *
 * If d tokens are abandoned, all of them due until u, and a stock has had t tokens, d of them may be
 * skipped once t >= u - d. All abandoned reservations are then due by t + d, so that the others due
 * by then need at most t tokens. Skipping them earlier would spend tokens before they are bought.
 * No reservation is due after t - balance, and u may be later: the last ones may have been cancelled.
 */
export class Abandoned {
  readonly #words: BigInt64Array<SharedArrayBuffer>;

  constructor({ buffer, byteOffset }: Int32Array<SharedArrayBuffer>) {
    this.#words = new BigInt64Array(buffer, byteOffset, FLEET_STOCK_BYTES >> 3);
  }

  /** The tokens not passed on yet. */
  get tokens(): number {
    return loadDouble(this.#words, ABANDONED_AT) - loadDouble(this.#words, PASSED_ON_AT);
  }

  /** Claims the tokens if they can be passed on at `nowUs` of the stock's clock; otherwise 0. */
  claim(nowUs: number, balance: () => number): number {
    for (;;) {
      const passedOn = loadDouble(this.#words, PASSED_ON_AT);
      // Both sums only grow, so that no token is claimed twice.
      const sum = loadDouble(this.#words, ABANDONED_AT);
      const tokens = sum - passedOn;
      if (!(tokens > 0)) return 0;
      // The balance is read after the sum: it includes the reservations of all its parts.
      const canPass =
        nowUs >= loadDouble(this.#words, UNTIL_AT) - tokens || balance() + tokens >= 0;
      if (!canPass) return 0;
      if (exchangeDouble(this.#words, PASSED_ON_AT, passedOn, sum)) return tokens;
    }
  }
}

/**
 * The processes that use a stock with a name, by their entries in the region: the fleet buckets
 * that may buy, and the tokens for which callers wait. If a process ends, `zerotime/host` clears its
 * member, and abandons what it waited for.
 */
export class Members {
  readonly #region: Region;
  readonly #start: number;
  readonly #sharing: Region['sharing'];
  /** The entry of this process; 0 in a region that no other shares. */
  readonly #own: number;
  /** Whether its end is noticed: not that of a thread that shares another's entry. */
  readonly #hasEntry: boolean;
  #isIn = false;

  constructor({ region, offset }: FleetCell) {
    this.#region = region;
    this.#start = offset + FLEET_CELL.members;
    this.#sharing = region.sharing;
    this.#own = this.#sharing?.process ?? 0;
    this.#hasEntry = this.#sharing?.hasLeft !== undefined;
  }

  /** Whether this thread has closed the region: its member may be another process's by now. */
  get hasLeft(): boolean {
    return this.#sharing?.hasLeft?.() === true;
  }

  #at(entry: number, field: number): number {
    return this.#start + entry * FLEET_MEMBER_BYTES + field;
  }

  #buckets(entry: number): number {
    return this.#at(entry, FLEET_MEMBER.buckets) >> 2;
  }

  /** Counts this thread's fleet bucket, if its end is noticed. */
  enter(): void {
    if (this.#sharing !== undefined && !this.#hasEntry) return;
    this.#isIn = true;
    Atomics.add(this.#region.i32, this.#buckets(this.#own), 1);
  }

  /** Uncounts it, if it is still counted. */
  leave(): void {
    if (this.#isIn && !this.hasLeft) {
      Atomics.sub(this.#region.i32, this.#buckets(this.#own), 1);
    }
    this.#isIn = false;
  }

  #some(isWanted: (entry: number) => boolean): boolean {
    const { i32 } = this.#region;
    for (let entry = 0; entry < FLEET_MEMBERS; entry++) {
      const isOpen = Atomics.load(i32, this.#buckets(entry)) > 0 && isWanted(entry);
      if (isOpen && this.#sharing?.hasEnded(entry) !== true) return true;
    }
    return false;
  }

  /** Whether no running process has one open. The fleet's guarantee does not depend on this. */
  get areNone(): boolean {
    return !this.#some(() => true);
  }

  /** Whether another running process has one open. */
  get areElsewhere(): boolean {
    return this.#some((entry) => entry !== this.#own);
  }

  /** Notes that a caller waits for `n` tokens due at `atUs` of the stock's clock. */
  queue(n: number, atUs: number): void {
    if (!this.#hasEntry) return;
    const { i64 } = this.#region;
    raiseDouble(i64, this.#at(this.#own, FLEET_MEMBER.until) >> 3, atUs);
    addDouble(i64, this.#at(this.#own, FLEET_MEMBER.waiting) >> 3, inTicks(n));
  }

  /** Notes that it no longer waits; false if its reservation was abandoned by then. */
  unqueue(n: number): boolean {
    if (!this.#hasEntry) return true;
    const { i64 } = this.#region;
    const at = this.#at(this.#own, FLEET_MEMBER.waiting) >> 3;
    const tokens = inTicks(n);
    for (;;) {
      const waiting = loadDouble(i64, at);
      if (this.hasLeft || waiting < tokens) return false;
      if (exchangeDouble(i64, at, waiting, waiting - tokens)) return true;
    }
  }
}
