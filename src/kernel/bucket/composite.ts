import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import type { Opened } from '../open.ts';
import { BucketHost } from './bucket-host.ts';
import { type LiveLimits, limitCountOf, liveLimits } from './composite-cell.ts';
import { type BucketEngine, buckets, readReceipt } from './engine.ts';
import { fail, sound } from './failure.ts';
import { openBucket } from './host.ts';
import {
  type BucketKernel,
  type BucketPromise,
  DAMAGED,
  type DueInstant,
  type Outcome,
  SUPERSEDED,
  type TokenIndex,
  type WordReceipt,
} from './kernel.ts';
import { notes } from './notes.ts';
import type { Schedule } from './schedule.ts';
import { outcomeOfAll, tightest } from './several.ts';

/** The place in the queue of a bucket with several limits: one index for each. */
interface CompositePromise extends BucketPromise {
  readonly indices: readonly TokenIndex[];
}

/** The marks of an admission and of the one before it, and the tokens it took. */
interface CompositeReceipt extends WordReceipt {
  readonly tokens: number;
  readonly limit: number;
}

/** A bucket whose several limits change in one exchange. */
export class HostedComposite extends BucketHost implements BucketKernel {
  /** The number of limits. */
  readonly count: number;
  /** The tokens that the last call asked for. */
  #tokens = 0;

  constructor(opened: Opened<BucketEngine>, place: CellPlace) {
    super(opened, place);
    this.count = limitCountOf(place);
  }

  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    this.#tokens = tokens;
    const wait = this.engine.acquireAll(this.cell, this.count, nowUs, tokens, maxWaitUs);
    return this.counted(wait, tokens);
  }

  charge(nowUs: number, tokens: number): number {
    this.#tokens = tokens;
    return this.counted(this.engine.chargeAll(this.cell, this.count, nowUs, tokens), tokens);
  }

  decide(nowUs: number, tokens: number): Outcome {
    this.#tokens = tokens;
    const wait = this.engine.decideAll(this.cell, this.count, nowUs, tokens);
    return outcomeOfAll(this.counted(wait, tokens) === 0, this.count);
  }

  drain(nowUs: number, tokens: number): number {
    return this.drained(this.engine.drainAll(this.cell, this.count, nowUs, tokens), tokens);
  }

  returnTokens(nowUs: number, tokens: number): boolean {
    return sound(this.engine.returnToAll(this.cell, this.count, nowUs, tokens)) === 1;
  }

  receipt(): CompositeReceipt {
    const { engine } = this;
    return { ...readReceipt(engine), tokens: this.#tokens, limit: engine.promiseLimit() };
  }

  cancel({ low, high, costLow, costHigh, limit, tokens }: CompositeReceipt): boolean {
    const marks = [low, high, costLow, costHigh] as const;
    return this.engine.cancelAll(this.cell, this.count, ...marks, limit, tokens) !== 0;
  }

  promise(): CompositePromise {
    const { engine } = this;
    return {
      generation: engine.promiseGeneration(),
      limit: engine.promiseLimit(),
      indices: notes.indices.slice(0, this.count),
    };
  }

  /** The latest instant at which the tokens are due under any limit. */
  due({ indices }: CompositePromise): DueInstant {
    const { engine } = this;
    for (;;) {
      let latestUs = Number.NEGATIVE_INFINITY;
      const generations = new Set<number>();
      for (const [limit, { low, high, fractionLow, fractionHigh }] of indices.entries()) {
        const index = [low, high, fractionLow, fractionHigh] as const;
        const dueUs = engine.dueUsOf(this.cell, this.count, limit, ...index);
        if (Number.isNaN(dueUs)) fail(DAMAGED);
        latestUs = Math.max(latestUs, dueUs);
        generations.add(engine.liveGeneration());
      }
      const [generation, ...others] = generations;
      // Otherwise the limits have changed meanwhile.
      if (generation !== undefined && others.length === 0) {
        return { dueUs: latestUs, generation, sinceUs: engine.liveSinceUs() };
      }
    }
  }

  /** {@link cancel} already allows for returned tokens. */
  cancelMoved(): boolean {
    return false;
  }

  balance(nowUs: number): number {
    return this.held(this.engine.balanceAll(this.cell, this.count, nowUs));
  }

  timeUntil(nowUs: number, tokens: number): number {
    return sound(this.engine.timeUntilAll(this.cell, this.count, nowUs, tokens));
  }

  /** The limits in force. */
  live(): LiveLimits {
    return liveLimits(this.place, this.count);
  }

  schedule(): Schedule {
    return tightest(this.live().schedules);
  }

  reconfigure(): never {
    throw new TypeError('a bucket with several limits changes all of them at once');
  }

  /** Replaces the limits in force by those that `change` makes of them. */
  change(nowUs: number, change: (inForce: readonly Schedule[]) => readonly Schedule[]): void {
    const { engine } = this;
    for (;;) {
      const { generation, schedules } = this.live();
      const next = change(schedules);
      let outcome = engine.beginReconfigure(this.cell, this.count, generation);
      if (outcome === 0) {
        for (const [i, { pace, burst, ticksPerToken }] of next.entries()) {
          engine.propose(this.cell, i, pace, burst, ticksPerToken);
        }
        outcome = engine.publishLimits(this.cell, this.count, nowUs);
      }
      if (outcome === 0) return;
      // If another thread changed the limits first, start from those.
      if (outcome !== SUPERSEDED) fail(outcome);
    }
  }
}

/** The kernel of a token bucket with one or more limits. */
export function openAnyBucket(place: CellPlace, asked: KernelName | undefined): BucketKernel {
  if (limitCountOf(place) === 1) return openBucket(place, asked);
  return new HostedComposite(buckets.openShared(place.region, asked), place);
}
