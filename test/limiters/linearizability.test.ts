import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type LimiterHandle,
  LimitSet,
  ManualClock,
  Semaphore,
  TokenBucket,
} from '../../src/index.ts';
import { BucketModel, SeveralModel } from '../support/bucket-models.ts';
import { Crew } from '../support/crew.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import {
  type Instants,
  linearization,
  type Operation,
  orWhenFound,
  overlaps,
  type SequentialModel,
} from '../support/linearization.ts';
import { part, SEED } from '../support/random.ts';
import { PermitModel, type RecordedCall, WindowModel } from '../support/recorded-calls.ts';
import { WINDOW_KINDS } from '../support/window-kinds.ts';
import type { RecordJob } from '../workers/recorder.ts';

const THREADS = 3;
/** Histories that threads record per batch, and the number of batches. */
const HISTORIES = 100;
const RUNS = part(5);

const n = fc.integer({ min: 1, max: 4 });
// Windows and slots are whole steps of the clock, so each reading belongs to one of them.
const advance = fc.record({ call: fc.constant('advance'), ms: fc.constantFrom(0.25, 1, 2) });
const take = fc.record({
  call: fc.constantFrom('tryConsume', 'consumeOrDrain', 'decide', 'look'),
  n,
});
const ofWindow: fc.Arbitrary<RecordedCall> = fc.oneof(
  { weight: 5, arbitrary: take },
  {
    weight: 1,
    arbitrary: fc.record({ call: fc.constant('resize'), limit: fc.integer({ min: 2, max: 6 }) }),
  },
  { weight: 1, arbitrary: advance },
);
const charge = fc.record({ call: fc.constant('charge'), n: fc.integer({ min: 1, max: 9 }) });

/** Calls of a bucket that may wait so long for a reservation, and change its limit in this way. */
function bucketCalls(
  maxWaitsMs: readonly number[],
  change: fc.Arbitrary<RecordedCall>,
): fc.Arbitrary<RecordedCall> {
  const maxWaitMs = fc.constantFrom(...maxWaitsMs);
  return fc.oneof(
    { weight: 4, arbitrary: take },
    { weight: 3, arbitrary: fc.record({ call: fc.constant('reserve'), n, maxWaitMs }) },
    { weight: 2, arbitrary: fc.constant({ call: 'cancel' }) },
    { weight: 2, arbitrary: fc.record({ call: fc.constant('returnTokens'), n }) },
    { weight: 1, arbitrary: charge },
    { weight: 1, arbitrary: change },
    { weight: 1, arbitrary: advance },
  );
}

// A token at each rate is a whole number of ticks at the others, so nothing is rounded away.
const limit = { rate: fc.constantFrom(1000, 2000, 4000), burst: fc.integer({ min: 4, max: 7 }) };
const ofBucket = bucketCalls([0, 2, 9], fc.record({ call: fc.constant('reconfigure'), ...limit }));
const ofSeveral = bucketCalls(
  [0, 4, 18],
  fc.record({ call: fc.constant('reconfigureOne'), limit: fc.constantFrom(0, 1), ...limit }),
);

const ofSemaphore: fc.Arbitrary<RecordedCall> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ call: fc.constant('tryAcquire'), n }) },
  { weight: 4, arbitrary: fc.constant({ call: 'release' }) },
  { weight: 1, arbitrary: fc.record({ call: fc.constantFrom('look', 'decide'), n }) },
  {
    weight: 1,
    arbitrary: fc.record({ call: fc.constant('permits'), permits: fc.integer({ min: 0, max: 8 }) }),
  },
);

interface Subject {
  readonly name: string;
  readonly call: fc.Arbitrary<RecordedCall>;
  readonly handle: () => LimiterHandle;
  readonly model: () => SequentialModel<RecordedCall>;
  readonly instants?: Instants<RecordedCall>;
}

const LIMIT = { rate: 1000, burst: 5 };
const SEVERAL = [
  { rate: 1000, burst: 5 },
  { rate: 500, burst: 6 },
];
const WINDOW = { limit: 4, intervalUs: 2000, slots: 4 };

const SUBJECTS: readonly Subject[] = [
  {
    name: 'TokenBucket',
    call: ofBucket,
    handle: () => TokenBucket.create({ ...LIMIT, initial: 4, clock: ManualClock.create() }).handle,
    model: () => new BucketModel(LIMIT, 4),
  },
  {
    name: 'LimitSet',
    call: ofSeveral,
    handle: () =>
      LimitSet.create({ limits: SEVERAL, initial: 4, clock: ManualClock.create() }).handle,
    model: () => new SeveralModel(SEVERAL, 4),
  },
  {
    name: 'Semaphore',
    call: ofSemaphore,
    // With `holdMs` it reads the clock after each grant, where the threads stall.
    handle: () =>
      Semaphore.create({ permits: 5, holdMs: 1000, clock: ManualClock.create() }).handle,
    model: () => new PermitModel(5),
  },
  ...WINDOW_KINDS.map(({ kind, create, reference }) => ({
    name: kind,
    call: ofWindow,
    handle: () =>
      create({ limit: 4, maxLimit: 6, intervalMs: 2, slots: 4, clock: ManualClock.create() })
        .handle,
    model: () => new WindowModel(reference(WINDOW), WINDOW),
    ...(kind === 'sliding-log' && { instants: orWhenFound }),
  })),
];

describe.each(SUBJECTS)(
  'concurrent calls of three threads on a $name',
  ({ name, call, handle, model, instants }) => {
    test.each(KERNEL_MIXES)(
      `have an equivalent sequential order, $mix (ZEROTIME_SEED=${SEED})`,
      async ({ kernels, mix }) => {
        const crew = await Crew.start<RecordJob, Operation<RecordedCall>[][]>('recorder', THREADS);
        const counts = { checked: 0, overlapped: 0 };
        const thread = fc.array(call, { minLength: 2, maxLength: 4 });
        const script = fc.array(thread, { minLength: THREADS, maxLength: THREADS });
        const scripts = fc.array(script, {
          minLength: HISTORIES,
          maxLength: HISTORIES,
          size: 'max',
        });
        const property = fc.asyncProperty(scripts, async (calls) => {
          const histories = calls.map((each) => ({ handle: handle(), calls: each }));
          const shared = new SharedArrayBuffer(8);
          const job = { kernels, threads: THREADS, histories, shared, seed: SEED };
          const recorded = await crew.run(job);
          for (const index of histories.keys()) {
            const history = recorded.flatMap((ofThread) => ofThread[index] ?? []);
            counts.checked++;
            if (overlaps(history)) counts.overlapped++;
            if (linearization(history, model, instants) === undefined) {
              const inTime = history.sort((a, b) => a.invoked - b.invoked);
              expect.fail(
                `no order explains\n${inTime.map((one) => JSON.stringify(one)).join('\n')}`,
              );
            }
          }
        });
        // A run of threads cannot be repeated, so there is nothing to shrink.
        await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true });
        console.log(
          `${name}, ${mix}: ${counts.checked} histories, ${counts.overlapped} overlapped`,
        );
        expect(counts.overlapped, 'histories in which calls overlapped').toBeGreaterThan(0);
      },
    );
  },
);

test('a history without a sequential order is distinguished from one that has one', () => {
  const operation = (thread: number, answer: string, invoked: number, returned: number) => ({
    thread,
    call: { call: 'tryConsume', n: 3 } as const,
    nowUs: 0,
    answer,
    invoked,
    returned,
  });
  const newModel = () => new BucketModel(LIMIT, 4);
  const both = [operation(0, 'true', 0, 2), operation(1, 'true', 1, 3)];
  expect(linearization(both, newModel)).toBe(undefined);
  const second = [operation(0, 'false', 0, 2), operation(1, 'true', 1, 3)];
  expect(linearization(second, newModel)?.map(({ thread }) => thread)).toEqual([1, 0]);
  // The refusal returned before the tokens were taken.
  const early = [operation(0, 'false', 0, 1), operation(1, 'true', 2, 3)];
  expect(linearization(early, newModel)).toBe(undefined);
});

test('an entry that another thread completes for a slow one counts from its reading', () => {
  const operation = (
    thread: number,
    call: 'consumeOrDrain' | 'look',
    answer: string,
    nowUs: number,
    [invoked, returned]: [number, number],
  ) => ({ thread, call: { call, n: 4 } as const, nowUs, answer, invoked, returned });
  const log = WINDOW_KINDS.find(({ kind }) => kind === 'sliding-log');
  if (log === undefined) throw new Error('there is no log');
  const newModel = () => new WindowModel(log.reference(WINDOW), WINDOW);
  const history = (found: [number, number]) => [
    operation(0, 'consumeOrDrain', '4', 0, [0, 3]),
    operation(1, 'look', '0', 1000, found),
    // Had they been taken at 0, all would be available again.
    operation(2, 'look', '0', 2000, [6, 7]),
  ];
  expect(linearization(history([1, 2]), newModel)).toBe(undefined);
  expect(linearization(history([1, 2]), newModel, orWhenFound)?.[0]?.nowUs).toBe(1000);
  // By then it had written them itself.
  expect(linearization(history([4, 5]), newModel, orWhenFound)).toBe(undefined);
});
