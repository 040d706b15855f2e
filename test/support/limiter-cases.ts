import {
  allOf,
  attach,
  FixedWindow,
  type KernelName,
  LeakyBucket,
  type Limiter,
  type LimiterHandle,
  type LimiterStats,
  LimitSet,
  ManualClock,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedFixedWindow, KeyedLimitSet, KeyedTokenBucket } from '../../src/keyed.ts';
import { PlainBucket } from './plain-limiter.ts';

/** Methods that the contract suite also tests if a class has them. */
interface ContractLimiter extends Limiter {
  consumeOrDrain?(n: number): number;
  stats?(): LimiterStats;
  readonly handle?: LimiterHandle;
  readonly kernelName?: KernelName;
}

/** One limiter class under the contract: it admits `LIMIT` at once, then nothing for a while. */
export interface LimiterCase {
  readonly name: string;
  /** What works on its memory: a kernel, or the page's plain code. */
  readonly kernel: KernelName | 'plain';
  readonly create: (clock: ManualClock) => ContractLimiter;
  /** Attaches a copy as another thread would; undefined for limiters without a handle. */
  readonly attach?: (limiter: ContractLimiter) => ContractLimiter;
  /** Milliseconds until all of `LIMIT` can be taken again. */
  readonly refillMs: number;
}

/** The tokens that every case admits at once. */
export const LIMIT = 5;

function copy(limiter: ContractLimiter): ContractLimiter {
  return attach(structuredClone(limiter.handle) as LimiterHandle<'token-bucket'>);
}

/** A new leaky bucket has no slack yet; this one behaves as if it had idled. */
function rested(bucket: LeakyBucket): LeakyBucket {
  bucket.returnTokens(bucket.slack);
  return bucket;
}

/** All cases for one kernel. */
function casesOf(kernel: KernelName): readonly Omit<LimiterCase, 'kernel'>[] {
  const aKey = (clock: ManualClock, limit: { rate: number; burst: number }) =>
    KeyedTokenBucket.create({ ...limit, capacity: 10, clock, kernel }).for('key');
  return [
    {
      name: 'TokenBucket',
      create: (clock) => TokenBucket.create({ rate: 10, burst: LIMIT, clock, kernel, stats: true }),
      attach: copy,
      refillMs: 500,
    },
    {
      name: 'TokenBucket with a quantum',
      create: (clock) =>
        TokenBucket.create({
          quantum: 5,
          fillIntervalMs: 500,
          burst: LIMIT,
          clock,
          kernel,
          stats: true,
        }),
      attach: copy,
      refillMs: 500,
    },
    {
      name: 'LimitSet',
      create: (clock) =>
        LimitSet.create({
          limits: [
            { rate: 1000, burst: 20 },
            { rate: 10, burst: LIMIT },
            { rate: 100, burst: 8 },
          ],
          clock,
          kernel,
          stats: true,
        }),
      attach: copy,
      refillMs: 500,
    },
    {
      name: 'LimitSet of one limit',
      create: (clock) =>
        LimitSet.create({ limits: [{ rate: 10, burst: LIMIT }], clock, kernel, stats: true }),
      attach: copy,
      refillMs: 500,
    },
    {
      name: 'LeakyBucket with slack',
      create: (clock) =>
        rested(LeakyBucket.create({ rate: 10, slack: LIMIT - 1, clock, kernel, stats: true })),
      attach: copy,
      refillMs: 500,
    },
    {
      name: 'FixedWindow',
      create: (clock) =>
        FixedWindow.create({ limit: LIMIT, intervalMs: 500, clock, kernel, stats: true }),
      attach: copy,
      refillMs: 500,
    },
    {
      name: 'SlidingWindow',
      create: (clock) =>
        SlidingWindow.create({
          limit: LIMIT,
          intervalMs: 500,
          slots: 5,
          clock,
          kernel,
          stats: true,
        }),
      attach: copy,
      refillMs: 500,
    },
    {
      name: 'SlidingLog',
      create: (clock) =>
        SlidingLog.create({ limit: LIMIT, intervalMs: 500, clock, kernel, stats: true }),
      attach: copy,
      refillMs: 500,
    },
    {
      name: 'one key of a KeyedTokenBucket',
      create: (clock) => aKey(clock, { rate: 10, burst: LIMIT }),
      refillMs: 500,
    },
    {
      name: 'one key of a KeyedLimitSet',
      create: (clock) =>
        KeyedLimitSet.create({
          limits: [
            { rate: 10, burst: LIMIT },
            { rate: 100, burst: 2 * LIMIT },
          ],
          ...{ capacity: 10, clock, kernel },
        }).for('key'),
      refillMs: 500,
    },
    {
      name: 'one key of a KeyedLimitSet of one limit',
      create: (clock) => {
        const limits = [{ rate: 10, burst: LIMIT }];
        return KeyedLimitSet.create({ limits, capacity: 10, clock, kernel }).for('key');
      },
      refillMs: 500,
    },
    {
      name: 'one key of a KeyedFixedWindow',
      create: (clock) =>
        KeyedFixedWindow.create({
          limit: LIMIT,
          intervalMs: 500,
          capacity: 10,
          clock,
          kernel,
        }).for('key'),
      refillMs: 500,
    },
    {
      name: 'allOf',
      create: (clock) =>
        allOf(
          TokenBucket.create({ rate: 10, burst: LIMIT, clock, kernel }),
          rested(LeakyBucket.create({ rate: 1000, slack: 99, clock, kernel })),
          TokenBucket.create({ rate: 1000, burst: 100, clock, kernel }),
          SlidingWindow.create({ limit: 100, intervalMs: 50, clock, kernel }),
          SlidingLog.create({ limit: 50, intervalMs: 20, clock, kernel }),
          aKey(clock, { rate: 1000, burst: 50 }),
        ),
      refillMs: 500,
    },
  ];
}

const KERNELS: readonly KernelName[] = ['wasm', 'atomics'];

/** The algorithm on a page, under the same contract. */
const PLAIN: LimiterCase = {
  name: 'PlainBucket',
  kernel: 'plain',
  create: (clock) => PlainBucket.create({ rate: 10, burst: LIMIT, clock }),
  attach: (limiter) => {
    if (!(limiter instanceof PlainBucket)) throw new TypeError('not a PlainBucket');
    return PlainBucket.attach(limiter.memory, { rate: 10, burst: LIMIT, clock: limiter.clock });
  },
  refillMs: 500,
};

export const LIMITER_CASES: readonly LimiterCase[] = [
  ...KERNELS.flatMap((kernel) =>
    casesOf(kernel).map((limiterCase) => ({ ...limiterCase, kernel })),
  ),
  PLAIN,
];

/** A clock at an arbitrary valid time. */
export function someClock(): ManualClock {
  return ManualClock.create({ nowMs: 123_456 });
}
