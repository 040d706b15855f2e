import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type LimiterHandle,
  LimitSet,
  ManualClock,
  Semaphore,
  TokenBucket,
} from '../../src/index.ts';
import * as permits from '../explorer/semaphore-reference.ts';
import type { Operation, Subject } from '../explorer/subject.ts';
import * as tokens from '../explorer/token-reference.ts';
import * as windows from '../explorer/window-reference.ts';
import { Crew } from '../support/crew.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import {
  type Instants,
  linearization,
  type Model,
  modelOf,
  orWhenFound,
  overlaps,
  type Recorded,
} from '../support/linearization.ts';
import { part, SEED } from '../support/random.ts';
import { WINDOW_KINDS } from '../support/window-kinds.ts';
import type { RecordJob } from '../workers/recorder.ts';

const THREADS = 3;
/** Histories that threads record per batch, and the number of batches. */
const HISTORIES = 100;
const RUNS = part(5);

const n = fc.integer({ min: 1, max: 4 });

/** One of several operations, each so often, with arguments drawn from these. */
function oneOf(
  ...weighted: readonly [
    weight: number,
    names: readonly string[],
    ...args: fc.Arbitrary<number>[],
  ][]
): fc.Arbitrary<Operation> {
  const drawn = weighted.map(([weight, names, ...args]) => ({
    weight,
    arbitrary: fc.tuple(fc.constantFrom(...names), ...args),
  }));
  return fc.oneof(...drawn);
}

/** Calls of a bucket, which may wait so long for a reservation, and changes of one of its limits. */
function ofBucket(limits: number, ...maxWaitsUs: number[]): fc.Arbitrary<Operation> {
  return oneOf(
    [3, ['take', 'drain', 'decide'], n],
    [1, ['balance']],
    [3, ['acquire'], n, fc.constantFrom(...maxWaitsUs)],
    [2, ['cancel']],
    [2, ['refund'], n],
    [1, ['charge'], fc.integer({ min: 1, max: 9 })],
    // A token at each rate is a whole number of ticks at the others, so nothing is rounded away.
    [
      1,
      ['reconfigure'],
      fc.nat(limits - 1),
      fc.constantFrom(1000, 2000, 4000),
      fc.integer({ min: 4, max: 7 }),
    ],
    [1, ['advance'], fc.constantFrom(0.25, 1, 2)],
  );
}

// Windows and slots are whole steps of the clock, so each reading belongs to one of them.
const ofWindow = oneOf(
  [4, ['take', 'drain', 'decide'], fc.integer({ min: 1, max: 3 })],
  [1, ['available']],
  [1, ['reconfigure'], fc.integer({ min: 3, max: 6 })],
  [1, ['advance'], fc.constantFrom(12.5, 50, 100)],
);

const ofSemaphore = oneOf(
  [5, ['take'], n],
  [4, ['release']],
  [1, ['available', 'in use']],
  [1, ['change'], fc.integer({ min: 0, max: 8 })],
);

interface Limited {
  readonly name: string;
  readonly operation: fc.Arbitrary<Operation>;
  readonly handle: () => LimiterHandle;
  readonly model: () => Model;
  readonly instants?: Instants;
}

/** What a decision says that does not depend on the rounding of its waits. */
function decision(verdict: unknown): unknown {
  const [allowed, balance] = verdict as [boolean, number];
  return [allowed, Math.max(0, Math.floor(balance))];
}

/** A bucket, as `setup` has it, called at the instants of the operations. */
function bucketModel(setup: string): Model {
  return modelOf(tokens.reference(setup), (thread, { operation: [name, ...args], nowUs }) => {
    const run = (name: string) => thread.run([name, ...args, nowUs]);
    if (name === 'take') return (run('decide') as [boolean])[0];
    if (name === 'decide') return decision(run(name));
    const answer = run(name);
    // Whether it moved promises is not told.
    return name === 'refund' ? null : answer;
  });
}

function windowModel(setup: string): Model {
  let atUs = 0;
  return modelOf(windows.reference(setup), (thread, { operation, nowUs }) => {
    thread.run(['advance', (nowUs - atUs) / 1000]);
    atUs = nowUs;
    const answer = thread.run(operation);
    return operation[0] === 'decide' ? decision(answer) : answer;
  });
}

function semaphoreModel(setup: string): Model {
  const looked = (thread: Subject) => thread.run(['look']) as [permits: number, available: number];
  return modelOf(permits.reference(setup), (thread, { operation }) => {
    const [name] = operation;
    if (name === 'available') return Math.max(0, looked(thread)[1]);
    if (name === 'in use') return looked(thread)[0] - looked(thread)[1];
    return thread.run(operation);
  });
}

const ONE = 'bucket 1000 5 4';
const LOG = 'sliding-log 4';

const LIMITED: readonly Limited[] = [
  {
    name: 'TokenBucket',
    operation: ofBucket(1, 0, 2000, 9000),
    handle: () =>
      TokenBucket.create({ rate: 1000, burst: 5, initial: 4, clock: ManualClock.create() }).handle,
    model: () => bucketModel(ONE),
  },
  {
    name: 'LimitSet',
    operation: ofBucket(2, 0, 4000, 18_000),
    handle: () =>
      LimitSet.create({
        limits: [
          { rate: 1000, burst: 5 },
          { rate: 500, burst: 6 },
        ],
        ...{ initial: 4, clock: ManualClock.create() },
      }).handle,
    model: () => bucketModel('limit-set 4 1000 5 500 6'),
  },
  {
    name: 'Semaphore',
    operation: ofSemaphore,
    // With `holdMs` it reads the clock after each grant, where the threads stall.
    handle: () =>
      Semaphore.create({ permits: 5, holdMs: 1000, clock: ManualClock.create() }).handle,
    model: () => semaphoreModel('5/64'),
  },
  ...WINDOW_KINDS.map(({ kind, create, allowDoubleBurst }) => ({
    name: allowDoubleBurst ? 'double-burst' : kind,
    operation: ofWindow,
    handle: () =>
      create({ limit: 4, maxLimit: 6, intervalMs: 100, slots: 2, clock: ManualClock.create() })
        .handle,
    model: () => windowModel(`${allowDoubleBurst ? 'double-burst' : kind} 4`),
    ...(kind === 'sliding-log' && { instants: orWhenFound }),
  })),
];

describe.each(LIMITED)(
  'concurrent calls of three threads on a $name',
  ({ name, operation, handle, model, instants }) => {
    test.each(KERNEL_MIXES)(
      `have an equivalent sequential order, $mix (ZEROTIME_SEED=${SEED})`,
      async ({ kernels, mix }) => {
        const crew = await Crew.start<RecordJob, Recorded[][]>('recorder', THREADS);
        const counts = { checked: 0, overlapped: 0 };
        const thread = fc.array(operation, { minLength: 2, maxLength: 4 });
        const script = fc.array(thread, { minLength: THREADS, maxLength: THREADS });
        const scripts = fc.array(script, {
          minLength: HISTORIES,
          maxLength: HISTORIES,
          size: 'max',
        });
        const property = fc.asyncProperty(scripts, async (calls) => {
          const histories = calls.map((each) => ({ handle: handle(), calls: each }));
          const tickets = new SharedArrayBuffer(4);
          const job = { kernels, histories, tickets, seed: SEED };
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
        await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
        console.log(
          `${name}, ${mix}: ${counts.checked} histories, ${counts.overlapped} overlapped`,
        );
        expect(counts.overlapped, 'histories in which calls overlapped').toBeGreaterThan(0);
      },
    );
  },
);

const recorded = (
  thread: number,
  operation: Operation,
  answer: unknown,
  nowUs: number,
  [invoked, returned]: [number, number],
): Recorded => ({ thread, operation, answer, nowUs, invoked, returned });

test('a history without a sequential order is distinguished from one that has one', () => {
  const take = (thread: number, answer: boolean, ...[invoked, returned]: [number, number]) =>
    recorded(thread, ['take', 3], answer, 0, [invoked, returned]);
  const ofOne = (...history: Recorded[]) => linearization(history, () => bucketModel(ONE));
  expect(ofOne(take(0, true, 0, 2), take(1, true, 1, 3))).toBe(undefined);
  const second = ofOne(take(0, false, 0, 2), take(1, true, 1, 3));
  expect(second?.map(({ thread }) => thread)).toEqual([1, 0]);
  // The refusal returned before the tokens were taken.
  expect(ofOne(take(0, false, 0, 1), take(1, true, 2, 3))).toBe(undefined);
});

test('an entry that another thread completes for a slow one counts from its reading', () => {
  const history = (found: [number, number]) => [
    recorded(0, ['drain', 4], 4, 0, [0, 3]),
    recorded(1, ['available'], 0, 50_000, found),
    // Had they been taken at 0, all would be available again.
    recorded(2, ['available'], 0, 100_000, [6, 7]),
  ];
  const newModel = () => windowModel(LOG);
  expect(linearization(history([1, 2]), newModel)).toBe(undefined);
  expect(linearization(history([1, 2]), newModel, orWhenFound)?.[0]?.nowUs).toBe(50_000);
  // By then it had written them itself.
  expect(linearization(history([4, 5]), newModel, orWhenFound)).toBe(undefined);
});
