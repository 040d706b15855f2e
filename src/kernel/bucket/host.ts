import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { Counters } from '../counters.ts';
import type { Opened } from '../open.ts';
import { type BucketEngine, openBuckets, readOutcome, readReceipt } from './engine.ts';
import { fail } from './failure.ts';
import {
  type BucketKernel,
  DAMAGED,
  type DueInstant,
  type LimiterStats,
  NEVER,
  type Outcome,
  type WordPromise,
  type WordReceipt,
} from './kernel.ts';
import { liveRecord } from './record.ts';
import type { Schedule } from './schedule.ts';

/** A bucket on the engine, which does all the work except counting. */
export class HostedBucket implements BucketKernel {
  readonly name: KernelName;
  readonly #engine: BucketEngine;
  readonly #place: CellPlace;
  readonly #cell: number;
  readonly #counters: Counters | undefined;

  /** `counts` is false if the bucket's owner counts. */
  constructor({ engine, name }: Opened<BucketEngine>, place: CellPlace, counts = true) {
    this.name = name;
    this.#engine = engine;
    this.#place = place;
    this.#cell = place.offset;
    this.#counters = counts ? Counters.open(place) : undefined;
    // The cell may lie where another bucket was, in reused memory.
    engine.forget();
  }

  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    const wait = this.#engine.acquire(this.#cell, nowUs, tokens, maxWaitUs);
    if (wait < NEVER) fail(wait);
    this.#counters?.count(wait < 0 ? 0 : tokens, wait < 0, this.lostRaces);
    return wait;
  }

  decide(nowUs: number, tokens: number): Outcome {
    const wait = this.#engine.decide(this.#cell, nowUs, tokens);
    if (wait < NEVER) fail(wait);
    this.#counters?.count(wait < 0 ? 0 : tokens, wait < 0, this.lostRaces);
    return readOutcome(this.#engine, wait);
  }

  drain(nowUs: number, tokens: number): number {
    const taken = this.#engine.drain(this.#cell, nowUs, tokens);
    if (taken < 0) fail(taken);
    this.#counters?.count(taken, taken === 0 && tokens >= 1, this.lostRaces);
    return taken;
  }

  charge(nowUs: number, tokens: number): number {
    const wait = this.#engine.charge(this.#cell, nowUs, tokens);
    if (wait < NEVER) fail(wait);
    this.#counters?.count(wait < 0 ? 0 : tokens, wait < 0, this.lostRaces);
    return wait;
  }

  returnTokens(nowUs: number, tokens: number): boolean {
    const moved = this.#engine.returnTokens(this.#cell, nowUs, tokens);
    if (moved < 0) fail(moved);
    return moved === 1;
  }

  receipt(): WordReceipt {
    return readReceipt(this.#engine);
  }

  promise(): WordPromise {
    const engine = this.#engine;
    engine.findPromise();
    return {
      generation: engine.promiseGeneration(),
      limit: engine.promiseLimit(),
      low: engine.indexLow(),
      high: engine.indexHigh(),
      fractionLow: engine.fractionLow(),
      fractionHigh: engine.fractionHigh(),
    };
  }

  due({ low, high, fractionLow, fractionHigh }: WordPromise): DueInstant {
    const engine = this.#engine;
    const dueUs = engine.dueUs(this.#cell, low, high, fractionLow, fractionHigh);
    if (Number.isNaN(dueUs)) fail(DAMAGED);
    return { dueUs, generation: engine.liveGeneration(), sinceUs: engine.liveSinceUs() };
  }

  cancelMoved(promise: WordPromise, { costLow, costHigh }: WordReceipt): boolean {
    const { limit, low, high, fractionLow, fractionHigh } = promise;
    const at = [this.#cell, limit, low, high, fractionLow, fractionHigh] as const;
    return this.#engine.cancelMoved(...at, costLow, costHigh) !== 0;
  }

  cancel({ low, high, costLow, costHigh }: WordReceipt): boolean {
    return this.#engine.cancel(this.#cell, low, high, costLow, costHigh) !== 0;
  }

  balance(nowUs: number): number {
    const balance = this.#engine.balance(this.#cell, nowUs);
    if (Number.isNaN(balance)) fail(this.#engine.failure());
    return balance;
  }

  timeUntil(nowUs: number, tokens: number): number {
    const us = this.#engine.timeUntil(this.#cell, nowUs, tokens);
    if (us < 0) fail(us);
    return us;
  }

  /** The number of races that the last call lost. */
  get lostRaces(): number {
    return this.#engine.lostRaces();
  }

  schedule(): Schedule {
    return liveRecord(this.#place).schedule;
  }

  reconfigure(nowUs: number, next: Schedule): void {
    const { pace, burst, ticksPerToken, fillTicks } = next;
    const limit = [pace, burst, ticksPerToken, fillTicks] as const;
    const failure = this.#engine.reconfigure(this.#cell, nowUs, ...limit);
    if (failure < 0) fail(failure);
  }

  stats(): LimiterStats | undefined {
    return this.#counters?.sum();
  }
}

export function openBucket(place: CellPlace, asked: KernelName | undefined): BucketKernel {
  return new HostedBucket(openBuckets(place.region, asked), place);
}
