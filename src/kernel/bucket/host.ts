import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { BucketHost } from './bucket-host.ts';
import { buckets, readOutcome, readReceipt } from './engine.ts';
import { fail, sound } from './failure.ts';
import {
  type BucketKernel,
  DAMAGED,
  type DueInstant,
  type Outcome,
  type WordPromise,
  type WordReceipt,
} from './kernel.ts';
import { liveRecord } from './record.ts';
import type { Schedule } from './schedule.ts';

/** A bucket with one limit. */
export class HostedBucket extends BucketHost implements BucketKernel {
  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    return this.counted(this.engine.acquire(this.cell, nowUs, tokens, maxWaitUs), tokens);
  }

  decide(nowUs: number, tokens: number): Outcome {
    const wait = this.counted(this.engine.decide(this.cell, nowUs, tokens), tokens);
    return readOutcome(this.engine, wait);
  }

  drain(nowUs: number, tokens: number): number {
    return this.drained(this.engine.drain(this.cell, nowUs, tokens), tokens);
  }

  charge(nowUs: number, tokens: number): number {
    return this.counted(this.engine.charge(this.cell, nowUs, tokens), tokens);
  }

  returnTokens(nowUs: number, tokens: number): boolean {
    return sound(this.engine.returnTokens(this.cell, nowUs, tokens)) === 1;
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
    if (Number.isNaN(dueUs)) fail(DAMAGED);
    return { dueUs, generation: engine.liveGeneration(), sinceUs: engine.liveSinceUs() };
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
    return this.held(this.engine.balance(this.cell, nowUs));
  }

  timeUntil(nowUs: number, tokens: number): number {
    return sound(this.engine.timeUntil(this.cell, nowUs, tokens));
  }

  schedule(): Schedule {
    return liveRecord(this.place).schedule;
  }

  reconfigure(nowUs: number, next: Schedule): void {
    const { pace, burst, ticksPerToken, fillTicks } = next;
    sound(this.engine.reconfigure(this.cell, nowUs, pace, burst, ticksPerToken, fillTicks));
  }
}

export function openBucket(place: CellPlace, asked: KernelName | undefined): BucketKernel {
  return new HostedBucket(buckets.openShared(place.region, asked), place);
}
