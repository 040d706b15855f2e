import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { CELL } from '../../memory/layout.ts';
import type { LimiterStats, Receipt, Verdict } from '../bucket/kernel.ts';
import { Counters } from '../counters.ts';
import type { ClockReader, WindowKernel } from './kernel.ts';

/**
 * What the kernels of windows and logs have in common: each has one loop, `attempt`, and all
 * operations are made of it.
 */
export abstract class WindowOperations implements WindowKernel {
  abstract readonly name: KernelName;
  readonly limit: number;
  readonly #words: BigInt64Array<SharedArrayBuffer>;
  readonly #wordAt: number;
  /** If counts are kept. */
  protected readonly counters: Counters | undefined;

  // What the last attempt left.
  /** Exchanges lost to other threads. */
  protected lostRaces = 0;
  /** After an admission: the word that it wrote, and by how much its count grew. */
  protected written = 0n;
  protected taken = 0;
  /** After a refusal: microseconds until as many as were asked for at least can be there. */
  waitUs = 0;
  /** After a survey: tokens left. */
  protected balance = 0;
  /** After a survey: microseconds until the limiter is as good as new. */
  protected fullUs = 0;

  protected constructor(place: CellPlace, limit: number) {
    this.limit = limit;
    this.#words = place.region.i64;
    this.#wordAt = (place.offset + CELL.word) >> 3;
    this.counters = Counters.open(place);
  }

  /**
   * Takes as many tokens as there are, at most `most`, and returns how many; none if there are
   * fewer than `least`. With `survey`, also says how things stood right after, and `waitUs` even if
   * nothing was asked for. `least` and `most` are at most the limit.
   */
  protected abstract attempt(
    least: number,
    most: number,
    clock: ClockReader,
    survey: boolean,
  ): number;

  take(tokens: number, clock: ClockReader): boolean {
    this.lostRaces = 0;
    this.taken = 0;
    let isTaken = tokens === 0;
    if (tokens > this.limit) this.waitUs = Number.POSITIVE_INFINITY;
    else if (!isTaken) isTaken = this.attempt(tokens, tokens, clock, false) === tokens;
    this.counters?.count(isTaken ? tokens : 0, !isTaken, this.lostRaces);
    return isTaken;
  }

  drain(tokens: number, clock: ClockReader): number {
    this.lostRaces = 0;
    const taken = tokens === 0 ? 0 : this.attempt(1, Math.min(tokens, this.limit), clock, false);
    this.counters?.count(taken, taken === 0 && tokens > 0, this.lostRaces);
    return taken;
  }

  decide(tokens: number, clock: ClockReader): Verdict {
    this.lostRaces = 0;
    const never = tokens > this.limit;
    const wanted = never ? 0 : tokens;
    const allowed = this.attempt(wanted, wanted, clock, true) === tokens;
    this.counters?.count(allowed ? tokens : 0, !allowed, this.lostRaces);
    const retryUs = allowed ? 0 : never ? Number.POSITIVE_INFINITY : this.waitUs;
    return { allowed, burst: this.limit, balance: this.balance, retryUs, fullUs: this.fullUs };
  }

  receipt(): Receipt {
    return { word: this.written, cost: BigInt(this.taken) };
  }

  cancel(receipt: Receipt): boolean {
    return this.cancelMarked(receipt, 0n);
  }

  /** Cancels, and leaves a mark in the word. */
  protected cancelMarked({ word, cost }: Receipt, mark: bigint): boolean {
    if (cost === 0n) return true;
    const before = BigInt.asIntN(64, word - cost) | mark;
    return Atomics.compareExchange(this.#words, this.#wordAt, word, before) === word;
  }

  timeUntil(tokens: number, clock: ClockReader): number {
    if (tokens > this.limit) return Number.POSITIVE_INFINITY;
    if (tokens === 0) return 0;
    this.attempt(tokens, 0, clock, true);
    return tokens <= this.balance ? 0 : this.waitUs;
  }

  available(clock: ClockReader): number {
    this.attempt(0, 0, clock, true);
    return this.balance;
  }

  stats(): LimiterStats | undefined {
    return this.counters?.sum();
  }
}
