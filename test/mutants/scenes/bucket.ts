import { createBucketCell } from '../../../src/kernel/bucket/cell.ts';
import type { BucketEngine } from '../../../src/kernel/bucket/engine.ts';
import { HostedBucket } from '../../../src/kernel/bucket/host.ts';
import type { WordPromise, WordReceipt } from '../../../src/kernel/bucket/kernel.ts';
import { continuous, perInterval, type Schedule } from '../../../src/kernel/bucket/schedule.ts';
import type { CellPlace } from '../../../src/memory/cell.ts';
import { BUCKET, BUCKET_BYTES, CELL } from '../../../src/memory/layout.ts';
import type { Region } from '../../../src/memory/region.ts';
import { claimRecords } from '../../support/cell.ts';
import type { Random } from '../../support/random.ts';
import { extremeSchedule, randomSchedule } from '../../support/random-schedule.ts';
import type { Recorder } from '../recorder.ts';
import { Rehearsal, regionOf, type Step } from '../rehearsal.ts';
import { recordDamage } from './record-damage.ts';

const YEAR_US = 365.25 * 86_400e6;

/** How often rare events happen in a scene. */
export interface Mood {
  /** On average every nth call reconfigures. */
  readonly changes: number;
  /** On average every nth call finds damaged memory. */
  readonly damage: number;
  /** Rates and bursts at the ends of their range, and debts as large as can be. */
  readonly isExtreme: boolean;
}

/** A bucket, the tokens that its threads got, and the time. */
class BucketScene {
  readonly #mood: Mood;
  readonly #random: Random;
  readonly #isHostile: boolean;
  readonly #place: CellPlace;
  readonly #receipts: WordReceipt[] = [];
  readonly #promises: WordPromise[] = [];
  #schedule: Schedule;
  #nowUs: number;

  constructor(recorder: Recorder, region: Region, random: Random, mood: Mood) {
    this.#random = random;
    this.#isHostile = recorder.isHostile;
    this.#mood = mood;
    this.#schedule = this.#newSchedule();
    this.#nowUs = random.pick([0, 1e6, random.logarithmic(1, 60 * YEAR_US)]);
    const { burst } = this.#schedule;
    const initial = random.pick([0, burst === Infinity ? 0 : Math.min(burst, 1e9)]);
    const made = { schedule: this.#schedule, nowUs: this.#nowUs, initial, kernel: undefined };
    const kind = 'token-bucket';
    this.#place = createBucketCell({ ...made, kind, region, stats: false });
    this.#layAgain(recorder, initial);
    if (random.below(3) === 0) this.#leaveClaims();
  }

  #newSchedule(): Schedule {
    return this.#mood.isExtreme ? extremeSchedule(this.#random) : randomSchedule(this.#random);
  }

  get place(): CellPlace {
    return this.#place;
  }

  /** The cell was created by an engine that was not recorded. */
  #layAgain(recorder: Recorder, initial: number): void {
    const { region, offset } = this.#place;
    const { i32 } = region;
    const kind = i32[(offset + CELL.kind) >> 2] ?? 0;
    i32.fill(0, offset >> 2, (offset + BUCKET_BYTES) >> 2);
    i32[(offset + CELL.kind) >> 2] = kind;
    const { pace, burst, ticksPerToken, fillTicks } = this.#schedule;
    const engine = recorder.engine('buckets', 0) as unknown as BucketEngine;
    const numbers = [pace, burst, ticksPerToken, fillTicks, initial] as const;
    engine.createBucket(offset, this.#nowUs, ...numbers);
  }

  /** Records of which threads took hold that were terminated, and a count that runs over. */
  #leaveClaims(): void {
    const { region, offset } = this.#place;
    const claims = this.#random.pick([0xff, 0xfd, this.#random.below(256)]);
    claimRecords(region.buffer, offset + BUCKET.claims, claims);
    region.i32[(offset + BUCKET.sequence) >> 2] = this.#random.pick([-2, 2 ** 31 - 2, 1008]);
  }

  #tokens(): number {
    const random = this.#random;
    const { burst } = this.#schedule;
    const most = Math.min(burst, 1e6);
    if (this.#mood.isExtreme && burst < Infinity) {
      return random.pick([burst, burst / 3, burst * random.logarithmic(1e-6, 1), 0.5, 1]);
    }
    return random.pick([
      0,
      1,
      1,
      random.below(Math.ceil(most) + 2),
      random.logarithmic(most / 1000, most * 2),
      burst === Infinity ? 1e300 : burst,
      random.logarithmic(1, 1e300),
    ]);
  }

  /** Mostly a few tokens' worth of time; now and then a step back, a month, a year. */
  #pass(): number {
    const random = this.#random;
    const tokenUs = Math.min(1e6 / this.#schedule.rate, YEAR_US) + 0.01;
    this.#nowUs += random.pick([
      0,
      0,
      0.5,
      random.logarithmic(0.1, 3) * tokenUs,
      random.logarithmic(0.01, 1e4),
    ]);
    if (random.below(100) === 0) this.#nowUs -= random.logarithmic(1, 1e9);
    if (random.below(200) === 0) this.#nowUs += random.logarithmic(1e9, YEAR_US);
    if (random.below(500) === 0 && this.#isHostile) {
      return random.pick([Number.NaN, Infinity, -Infinity, 1e300, 1e16]);
    }
    return this.#nowUs;
  }

  next(): Step<HostedBucket> {
    const random = this.#random;
    const nowUs = this.#pass();
    const n = this.#tokens();
    const maxWaitUs = random.pick([0, 0, 1, Infinity, random.logarithmic(0.1, 1e12)]);
    if (random.below(this.#mood.damage) === 0 && this.#isHostile) return this.#damage(nowUs);
    if (random.below(this.#mood.changes) === 0) return this.#change(nowUs);
    switch (random.below(16)) {
      case 0:
        return (bucket) => bucket.decide(nowUs, n);
      case 1:
      case 12:
        return (bucket) => bucket.drain(nowUs, n);
      case 2:
        return (bucket) => bucket.returnTokens(nowUs, n);
      case 3:
        return (bucket) => bucket.timeUntil(nowUs, n);
      case 4:
        return (bucket) => bucket.balance(nowUs);
      case 5: {
        const receipt = this.#receipts.at(-1 - random.below(3));
        return (bucket) => {
          if (receipt !== undefined) bucket.cancel(receipt);
          const promise = this.#promises.at(-1);
          if (promise !== undefined && receipt !== undefined) bucket.cancelMoved(promise, receipt);
        };
      }
      case 13: {
        const promise = this.#promises.at(-1 - random.below(3));
        return (bucket) => {
          if (promise !== undefined) bucket.due(promise);
        };
      }
      case 14:
        return (bucket) => bucket.charge(nowUs, n);
      case 15: {
        const promise = this.#promises.at(-1);
        return (bucket) => {
          if (promise !== undefined && random.below(4) === 0) this.#pauseWhenDue(bucket, promise);
        };
      }
      default:
        return (bucket) => {
          const waitUs = bucket.acquire(nowUs, n, maxWaitUs);
          this.#receipts.push(bucket.receipt());
          if (waitUs > 0) this.#promises.push(bucket.promise());
        };
    }
  }

  #pauseWhenDue(bucket: HostedBucket, promise: WordPromise): void {
    const { dueUs } = bucket.due(promise);
    const { burst, ticksPerToken } = this.#schedule;
    if (!Number.isFinite(dueUs) || ticksPerToken === 0) return;
    const to = (schedule: Schedule) =>
      bucket.reconfigure(
        () => dueUs,
        () => schedule,
      );
    to(continuous(0, burst, ticksPerToken));
    bucket.due(promise);
    to(this.#schedule);
  }

  /** Another limit, at times with the fills of the limit before. */
  #change(nowUs: number): Step<HostedBucket> {
    const random = this.#random;
    const { rate, fillTicks, ticksPerMicro } = this.#schedule;
    const next =
      fillTicks !== 0 && random.below(2) === 0
        ? perInterval(1 + random.below(10), fillTicks / ticksPerMicro / 1000, 1e3)
        : this.#newSchedule();
    return (bucket) => {
      bucket.reconfigure(
        () => nowUs,
        () => next,
      );
      if (rate !== next.rate) this.#schedule = next;
    };
  }

  #damage(nowUs: number): Step<HostedBucket> {
    const random = this.#random;
    const damage = recordDamage(this.#place, random);
    const act = random.pick<Step<HostedBucket>>([
      (bucket) => bucket.acquire(nowUs, 1, 0),
      (bucket) => bucket.balance(nowUs),
      (bucket) => bucket.decide(nowUs, 1),
      (bucket) => bucket.timeUntil(nowUs, 1),
      (bucket) => bucket.drain(nowUs, 1),
      (bucket) => bucket.returnTokens(nowUs, 1),
      (bucket) =>
        bucket.reconfigure(
          () => nowUs,
          () => this.#schedule,
        ),
    ]);
    return (bucket) => {
      const mend = damage();
      try {
        act(bucket);
        act(bucket);
      } finally {
        mend();
      }
    };
  }
}

/** Random calls of a bucket, or of two that one instance serves. */
export function bucketScene(mood: Mood, recorder: Recorder, random: Random, calls: number): void {
  const region = regionOf(recorder);
  const count = 1 + random.below(2);
  const scenes = Array.from(
    { length: count },
    () => new BucketScene(recorder, region, random, mood),
  );
  const open = (thread: number) => {
    const engine = recorder.engine('buckets', thread) as unknown as BucketEngine;
    return scenes.map(({ place }) => new HostedBucket({ engine, name: 'wasm' }, place));
  };
  const next = (): Step<HostedBucket[]> => {
    const which = random.below(3) === 0 ? count - 1 : 0;
    const step = scenes[which]?.next();
    return (buckets) => {
      const bucket = buckets[which];
      if (bucket === undefined) return;
      step?.(bucket);
      bucket.failedExchanges;
    };
  };
  new Rehearsal(recorder, random, open).run(calls, next);
}
