import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { BucketHost } from './bucket-host.ts';
import { buckets, readOutcome, readReceipt } from './engine.ts';
import { fail, sound } from './failure.ts';
import {
  AGAIN,
  type BucketKernel,
  type DueInstant,
  NEVER,
  type Outcome,
  type Place,
  type Tenure,
  type WordPromise,
  type WordReceipt,
} from './kernel.ts';
import { Position } from './position.ts';
import { liveRecord, RecordTenure } from './record.ts';
import type { Schedule } from './schedule.ts';

/** After as many, a change no longer insists that no call came after its clock was read. */
const MOST_LOOKS = 100;

/** A bucket with one limit. */
export class HostedBucket extends BucketHost implements BucketKernel {
  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    const wait = this.engine.acquire(this.cell, nowUs, tokens, maxWaitUs);
    if (wait < NEVER && this.mends(wait)) return this.acquire(nowUs, tokens, maxWaitUs);
    return this.counted(wait, tokens);
  }

  decide(nowUs: number, tokens: number): Outcome {
    const wait = this.engine.decide(this.cell, nowUs, tokens);
    if (this.mends(wait)) return this.decide(nowUs, tokens);
    return readOutcome(this.engine, this.counted(wait, tokens));
  }

  drain(nowUs: number, tokens: number): number {
    const taken = this.engine.drain(this.cell, nowUs, tokens);
    return this.mends(taken) ? this.drain(nowUs, tokens) : this.drained(taken, tokens);
  }

  charge(nowUs: number, tokens: number): number {
    const wait = this.engine.charge(this.cell, nowUs, tokens);
    return this.mends(wait) ? this.charge(nowUs, tokens) : this.counted(wait, tokens);
  }

  returnTokens(nowUs: number, tokens: number): boolean {
    const moved = this.engine.returnTokens(this.cell, nowUs, tokens);
    return this.mends(moved) ? this.returnTokens(nowUs, tokens) : sound(moved) === 1;
  }

  receipt(): WordReceipt {
    return readReceipt(this.engine);
  }

  promise(): WordPromise {
    const { engine } = this;
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
    const { engine } = this;
    const dueUs = engine.dueUs(this.cell, low, high, fractionLow, fractionHigh);
    if (Number.isNaN(dueUs)) fail();
    return { dueUs, generation: engine.liveGeneration(), sinceUs: engine.liveSinceUs() };
  }

  position(dueUs: number): Place {
    return new Position(this, dueUs);
  }

  tenure(): Tenure {
    return new RecordTenure(this.place);
  }

  cancelMoved(promise: WordPromise, { costLow, costHigh }: WordReceipt): boolean {
    const { limit, low, high, fractionLow, fractionHigh } = promise;
    const at = [this.cell, limit, low, high, fractionLow, fractionHigh] as const;
    return this.engine.cancelMoved(...at, costLow, costHigh) !== 0;
  }

  cancel({ low, high, costLow, costHigh }: WordReceipt): boolean {
    return this.engine.cancel(this.cell, low, high, costLow, costHigh) !== 0;
  }

  balance(nowUs: number): number {
    const tokens = this.engine.balance(this.cell, nowUs);
    if (Number.isNaN(tokens) && this.mends(this.engine.failure())) return this.balance(nowUs);
    return this.held(tokens);
  }

  timeUntil(nowUs: number, tokens: number): number {
    const us = this.engine.timeUntil(this.cell, nowUs, tokens);
    return this.mends(us) ? this.timeUntil(nowUs, tokens) : sound(us);
  }

  schedule(): Schedule {
    return liveRecord(this.place).schedule;
  }

  /**
   * Puts a new limit in force: `change` gets the current one, and may be called again. The tokens or
   * the debt stay.
   */
  reconfigure(readClock: () => number, change: (inForce: Schedule) => Schedule): void {
    for (let attempt = 1; ; attempt++) {
      this.engine.look(this.cell);
      const { pace, burst, ticksPerToken, fillTicks } = change(this.schedule());
      const limit = [pace, burst, ticksPerToken, fillTicks] as const;
      // Threads that call all the time change the word faster than this can look and read a clock.
      const bound = attempt < MOST_LOOKS;
      const outcome = this.engine.reconfigure(this.cell, readClock(), ...limit, bound);
      if (outcome === AGAIN || this.mends(outcome)) continue;
      sound(outcome);
      return;
    }
  }
}

export function openBucket(place: CellPlace, asked: KernelName | undefined): HostedBucket {
  return new HostedBucket(buckets.openShared(place.region, asked), place);
}
