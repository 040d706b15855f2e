import { expect, test } from 'vitest';
import { Region, TokenBucket } from '../../src/index.ts';
import { createBucketCell } from '../../src/kernel/bucket/cell.ts';
import { type HostedBucket, openBucket } from '../../src/kernel/bucket/host.ts';
import type { WordPromise, WordReceipt } from '../../src/kernel/bucket/kernel.ts';
import type { Schedule } from '../../src/kernel/bucket/schedule.ts';
import { buckets, window } from '../../src/kernel/build/modules.ts';
import { bytesOf } from '../../src/kernel/open.ts';
import { Random, SEED, SHARE } from '../support/random.ts';
import { randomSchedule } from '../support/random-schedule.ts';
import { same, Twins } from '../support/twins.ts';

const CALLS = 1_000_000 * SHARE;
const CALLS_OF_A_BUCKET = 2_000;
const YEAR_US = 365.25 * 86_400e6;

function randomTokens(random: Random, { burst }: Schedule): number {
  const most = Math.min(burst, 1e6);
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

/** The same bucket twice. */
class BucketTwins extends Twins<HostedBucket> {
  readonly #receipts: (readonly [WordReceipt, WordReceipt])[] = [];
  readonly #promises: (readonly [WordPromise, WordPromise])[] = [];

  constructor(schedule: Schedule, nowUs: number, initial: number) {
    const cell = (plain: boolean) => {
      const region = Region.create({ plain });
      const kind = 'token-bucket';
      return createBucketCell({ kind, schedule, nowUs, initial, stats: false, region });
    };
    super(cell, openBucket);
  }

  /** Like `both`, and keeps the receipts. */
  acquire(what: string, call: (kernel: HostedBucket) => number): void {
    const wait = this.both(what, call);
    if (typeof wait !== 'number' || wait < 0) return;
    const [ours, theirs] = this.kernels;
    const receipts: [WordReceipt, WordReceipt] = [ours.receipt(), theirs.receipt()];
    if (wait > 0) {
      const promises: [WordPromise, WordPromise] = [ours.promise(), theirs.promise()];
      expect(promises[1], what).toEqual(promises[0]);
      this.#promises.push(promises);
    }
    if (!same(...receipts)) expect(receipts[1], what).toEqual(receipts[0]);
    this.#receipts.push(receipts);
  }

  /** Cancels one of the latest acquisitions. */
  cancel(random: Random): void {
    const receipts = this.#receipts.splice(-1 - random.below(3))[0];
    if (receipts === undefined) return;
    this.both('cancel', (kernel, twin) => kernel.cancel(receipts[twin]));
    const promises = this.#promises.at(-1);
    if (promises === undefined) return;
    this.both('cancelMoved', (kernel, twin) => kernel.cancelMoved(promises[twin], receipts[twin]));
  }

  /** When the tokens of one of the latest promises are due. */
  due(random: Random): void {
    const promises = this.#promises.at(-1 - random.below(3));
    if (promises !== undefined) this.both('due', (kernel, twin) => kernel.due(promises[twin]));
  }
}

function step(random: Random, twins: BucketTwins, schedule: Schedule, nowUs: number): Schedule {
  const n = randomTokens(random, schedule);
  const maxWaitUs = random.pick([0, 0, Infinity, random.logarithmic(0.1, 1e12)]);
  const what = `n = ${n}, maxWaitUs = ${maxWaitUs}, now = ${nowUs} of ${JSON.stringify(schedule, (_, value) => (typeof value === 'bigint' ? `${value}` : value))}`;
  switch (random.below(14)) {
    case 0:
      twins.both(`decide ${what}`, (kernel) => kernel.decide(nowUs, n));
      break;
    case 1:
      twins.both(`drain ${what}`, (kernel) => kernel.drain(nowUs, n));
      break;
    case 2:
      twins.both(`refund ${what}`, (kernel) => kernel.returnTokens(nowUs, n));
      break;
    case 3:
      twins.both(`timeUntil ${what}`, (kernel) => kernel.timeUntil(nowUs, n));
      break;
    case 4:
      twins.both(`balance ${what}`, (kernel) => kernel.balance(nowUs));
      break;
    case 5:
      twins.cancel(random);
      break;
    case 6: {
      if (random.below(8) !== 0) break;
      const next = randomSchedule(random);
      const outcome = twins.both(`reconfigure ${what}`, (kernel) =>
        kernel.reconfigure(
          () => nowUs,
          () => next,
        ),
      );
      return outcome === undefined ? next : schedule;
    }
    case 7:
      twins.due(random);
      break;
    case 8:
      if (random.below(4) === 0) twins.both(`charge ${what}`, (kernel) => kernel.charge(nowUs, n));
      break;
    default:
      twins.acquire(`acquire ${what}`, (kernel) => kernel.acquire(nowUs, n, maxWaitUs));
  }
  return schedule;
}

test(`${CALLS} random calls leave the same words and get the same answers from both kernels (ZEROTIME_SEED=${SEED})`, () => {
  const random = new Random(SEED);
  for (let calls = 0; calls < CALLS; calls += CALLS_OF_A_BUCKET) {
    let schedule = randomSchedule(random);
    let nowUs = random.pick([0, 1e6, random.logarithmic(1, 60 * YEAR_US)]);
    const initial = random.pick([0, Math.min(schedule.burst, 1e9)]);
    const twins = new BucketTwins(schedule, nowUs, schedule.burst === Infinity ? 0 : initial);
    for (let call = 0; call < CALLS_OF_A_BUCKET; call++) {
      // Mostly the time of a few tokens; sometimes a step back, a month or a year.
      const tokenUs = Math.min(1e6 / schedule.rate, YEAR_US) + 0.01;
      nowUs += random.pick([
        0,
        0,
        random.logarithmic(0.1, 3) * tokenUs,
        random.logarithmic(0.01, 1e4),
      ]);
      if (random.below(200) === 0) nowUs -= random.logarithmic(1, 1e9);
      if (random.below(400) === 0) nowUs += random.logarithmic(1e9, YEAR_US);
      schedule = step(random, twins, schedule, nowUs);
      twins.compareMemory();
    }
  }
});

test('the modules are smaller than 15 KiB for buckets, and 8.5 KiB for windows', () => {
  expect(bytesOf(buckets.wasm()).length).toBeLessThan(15 * 1024);
  expect(bytesOf(window.wasm()).length).toBeLessThan(8.5 * 1024);
});

test('the compiled kernel is the default, and either can be requested', () => {
  const limit = { rate: 1, burst: 1 };
  expect(TokenBucket.create(limit).kernelName).toBe('wasm');
  expect(TokenBucket.create({ ...limit, kernel: 'wasm' }).kernelName).toBe('wasm');
  const bucket = TokenBucket.create({ ...limit, kernel: 'atomics' });
  expect(bucket.kernelName).toBe('atomics');
  expect(TokenBucket.attach(structuredClone(bucket.handle)).kernelName).toBe('atomics');
});
