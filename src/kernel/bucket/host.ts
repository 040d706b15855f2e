import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { BUCKET } from '../../memory/layout.ts';
import { Counters } from '../counters.ts';
import type { Opened } from '../open.ts';
import { awaitClaims } from '../records.ts';
import { liveRecord, watchBucket } from './cell.ts';
import {
  type BucketEngine,
  buckets,
  fail,
  numbersOf,
  readDue,
  readOutcome,
  readPromise,
  readReceipt,
  sound,
} from './engine.ts';
import {
  AGAIN,
  BUSY,
  type BucketKernel,
  type DueInstant,
  type LimitEpoch,
  type LimiterStats,
  NEVER,
  type Outcome,
  type Place,
  type Receipt,
  type WordPromise,
  type WordReceipt,
} from './kernel.ts';
import type { Schedule } from './schedule.ts';

/** The kernel's answers about an admission. */
interface Promising {
  promise(): WordPromise;
  due(promise: WordPromise): DueInstant;
  cancelMoved(promise: WordPromise, receipt: WordReceipt): boolean;
}

/**
 * A reservation's place in the bucket's queue. Changes of the limit and returned tokens move its
 * instant, but never its place.
 */
export class Position implements Place {
  readonly #kernel: Promising;
  readonly #promise: WordPromise;
  #epoch: number;
  #dueUs: number;
  /** Whether it was due when a record went live; nothing can move it any more. */
  #isPast = false;

  /** For the kernel's last admission; `dueUs` is the promised instant. */
  constructor(kernel: Promising, dueUs: number) {
    this.#kernel = kernel;
    this.#promise = kernel.promise();
    this.#epoch = this.#promise.epoch;
    this.#dueUs = dueUs;
  }

  /** The instant, in microseconds, at which the tokens are due; Infinity while none arrive. */
  dueUs(): number {
    if (this.#isPast) return this.#dueUs;
    const { dueUs, epoch, sinceUs } = this.#kernel.due(this.#promise);
    if (epoch === this.#epoch) return this.#dueUs;
    this.#epoch = epoch;
    this.#isPast = dueUs <= sinceUs;
    this.#dueUs = this.#isPast ? Math.min(this.#dueUs, sinceUs) : dueUs;
    return this.#dueUs;
  }

  /** Cancels the reservation if only returned tokens have moved the bucket since. */
  cancel(receipt: Receipt): boolean {
    return this.#kernel.cancelMoved(this.#promise, receipt as WordReceipt); // it issues no others
  }
}

/** After as many, a change no longer insists that no call came after its clock was read. */
const MOST_LOOKS = 100;

/** A bucket with one limit, on the engine, which does all the work except counting. */
export class HostedBucket implements BucketKernel {
  readonly name: KernelName;
  readonly #engine: BucketEngine;
  readonly #place: CellPlace;
  readonly #cell: number;
  readonly #counters: Counters | undefined;

  constructor({ engine, name }: Opened<BucketEngine>, place: CellPlace) {
    this.name = name;
    this.#engine = engine;
    this.#place = place;
    this.#cell = place.offset;
    this.#counters = Counters.open(place);
    // The cell may lie where another bucket was, in reused memory.
    engine.leaveRegion();
  }

  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    const wait = this.#engine.acquire(this.#cell, nowUs, tokens, maxWaitUs);
    if (wait < NEVER && this.#mends(wait)) return this.acquire(nowUs, tokens, maxWaitUs);
    return this.#counted(wait, tokens);
  }

  decide(nowUs: number, tokens: number): Outcome {
    const wait = this.#engine.decide(this.#cell, nowUs, tokens);
    if (this.#mends(wait)) return this.decide(nowUs, tokens);
    return readOutcome(this.#engine, this.#counted(wait, tokens));
  }

  drain(nowUs: number, tokens: number): number {
    const taken = this.#engine.drain(this.#cell, nowUs, tokens);
    return this.#mends(taken) ? this.drain(nowUs, tokens) : this.#drained(taken, tokens);
  }

  charge(nowUs: number, tokens: number): number {
    const wait = this.#engine.charge(this.#cell, nowUs, tokens);
    return this.#mends(wait) ? this.charge(nowUs, tokens) : this.#counted(wait, tokens);
  }

  returnTokens(nowUs: number, tokens: number): boolean {
    const moved = this.#engine.returnTokens(this.#cell, nowUs, tokens);
    return this.#mends(moved) ? this.returnTokens(nowUs, tokens) : sound(moved) === 1;
  }

  receipt(): WordReceipt {
    return readReceipt(this.#engine);
  }

  promise(): WordPromise {
    return readPromise(this.#engine);
  }

  due({ index }: WordPromise): DueInstant {
    const dueUs = this.#engine.dueUs(this.#cell, ...index);
    if (Number.isNaN(dueUs)) fail();
    return readDue(this.#engine, dueUs);
  }

  position(dueUs: number): Place {
    return new Position(this, dueUs);
  }

  epoch(): LimitEpoch {
    return watchBucket(this.#place);
  }

  cancelMoved({ limit, index }: WordPromise, { costLow, costHigh }: WordReceipt): boolean {
    return this.#engine.cancelMoved(this.#cell, limit, ...index, costLow, costHigh) !== 0;
  }

  cancel({ low, high, costLow, costHigh }: WordReceipt): boolean {
    return this.#engine.cancel(this.#cell, low, high, costLow, costHigh) !== 0;
  }

  balance(nowUs: number): number {
    const tokens = this.#engine.balance(this.#cell, nowUs);
    if (!Number.isNaN(tokens)) return tokens;
    if (this.#mends(this.#engine.failure())) return this.balance(nowUs);
    fail();
  }

  timeUntil(nowUs: number, tokens: number): number {
    const us = this.#engine.timeUntil(this.#cell, nowUs, tokens);
    return this.#mends(us) ? this.timeUntil(nowUs, tokens) : sound(us);
  }

  schedule(): Schedule {
    return liveRecord(this.#place).schedule;
  }

  /**
   * Puts a new limit in force: `change` gets the current one, and may be called again. The tokens or
   * the debt stay.
   */
  reconfigure(readClock: () => number, change: (inForce: Schedule) => Schedule): void {
    for (let attempt = 1; ; attempt++) {
      this.#engine.look(this.#cell);
      const limit = numbersOf(change(this.schedule()));
      // Threads that call all the time change the word faster than this can look and read a clock.
      const bound = attempt < MOST_LOOKS;
      const outcome = this.#engine.reconfigure(this.#cell, readClock(), ...limit, bound);
      if (outcome === AGAIN || this.#mends(outcome)) continue;
      sound(outcome);
      return;
    }
  }

  /** The number of races that the last call lost. */
  get failedExchanges(): number {
    return this.#engine.failedExchanges();
  }

  stats(): LimiterStats | undefined {
    return this.#counters?.sum();
  }

  /** Whether to repeat a call that failed because all records were claimed, once one may be free. */
  #mends(failure: number): boolean {
    if (failure !== BUSY) return false;
    awaitClaims(this.#place, BUCKET.claims);
    return true;
  }

  /** Counts a call by its wait, which it returns. */
  #counted(wait: number, tokens: number): number {
    if (wait < NEVER) fail();
    this.#counters?.count(wait < 0 ? 0 : tokens, wait < 0, this.failedExchanges);
    return wait;
  }

  /** Counts a call that took as many of these tokens as there were. */
  #drained(taken: number, tokens: number): number {
    if (taken < 0) fail();
    this.#counters?.count(taken, taken === 0 && tokens >= 1, this.failedExchanges);
    return taken;
  }
}

export function openBucket(place: CellPlace, asked: KernelName | undefined): HostedBucket {
  return new HostedBucket(buckets.openShared(place.region, asked), place);
}
