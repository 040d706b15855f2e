import {
  allOf,
  attach,
  type ContinuousLimit,
  FixedWindow,
  type KernelName,
  LeakyBucket,
  type Limiter,
  type LimiterHandle,
  type LimiterStats,
  LimitSet,
  ManualClock,
  type Region,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedFixedWindow, KeyedLimitSet, KeyedTokenBucket } from '../../src/keyed.ts';
import { PlainBucket } from './plain-limiter.ts';

/** Methods that the contract suite also tests if a class has them. */
export interface ContractLimiter extends Limiter {
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
  /** In the region of this thread unless one is given. */
  readonly create: (clock: ManualClock, region?: Region) => ContractLimiter;
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
  type At = Parameters<LimiterCase['create']>;
  const at = (...[clock, region]: At) => ({ clock, kernel, ...(region && { region }) });
  const keyed = (...where: At) => ({ ...at(...where), capacity: 10 });
  const counted = (...where: At) => ({ ...at(...where), stats: true });
  const aKey = (limit: { rate: number; burst: number }, ...where: At) =>
    KeyedTokenBucket.create({ ...limit, ...keyed(...where) }).for('key');
  const aSet = (limits: readonly [ContinuousLimit, ...ContinuousLimit[]], ...where: At) =>
    LimitSet.create({ limits, ...counted(...where) });
  const aKeyOfASet = (limits: readonly [ContinuousLimit, ...ContinuousLimit[]], ...where: At) =>
    KeyedLimitSet.create({ limits, ...keyed(...where) }).for('key');
  const limit = { rate: 10, burst: LIMIT };
  const window = { limit: LIMIT, intervalMs: 500 };
  const refillMs = 500;
  return [
    {
      name: 'TokenBucket',
      create: (...where) => TokenBucket.create({ ...limit, ...counted(...where) }),
      attach: copy,
      refillMs,
    },
    {
      name: 'TokenBucket with a quantum',
      create: (...where) =>
        TokenBucket.create({
          ...{ quantum: 5, fillIntervalMs: 500, burst: LIMIT },
          ...counted(...where),
        }),
      attach: copy,
      refillMs,
    },
    {
      name: 'LimitSet',
      create: (...where) =>
        aSet([{ rate: 1000, burst: 20 }, limit, { rate: 100, burst: 8 }], ...where),
      attach: copy,
      refillMs,
    },
    {
      name: 'LimitSet of one limit',
      create: (...where) => aSet([limit], ...where),
      attach: copy,
      refillMs,
    },
    {
      name: 'LeakyBucket with slack',
      create: (...where) =>
        rested(LeakyBucket.create({ rate: 10, slack: LIMIT - 1, ...counted(...where) })),
      attach: copy,
      refillMs,
    },
    {
      name: 'FixedWindow',
      create: (...where) => FixedWindow.create({ ...window, ...counted(...where) }),
      attach: copy,
      refillMs,
    },
    {
      name: 'SlidingWindow',
      create: (...where) => SlidingWindow.create({ ...window, slots: 5, ...counted(...where) }),
      attach: copy,
      refillMs,
    },
    {
      name: 'SlidingLog',
      create: (...where) => SlidingLog.create({ ...window, ...counted(...where) }),
      attach: copy,
      refillMs,
    },
    {
      name: 'one key of a KeyedTokenBucket',
      create: (...where) => aKey(limit, ...where),
      refillMs,
    },
    {
      name: 'one key of a KeyedLimitSet',
      create: (...where) => aKeyOfASet([limit, { rate: 100, burst: 2 * LIMIT }], ...where),
      refillMs,
    },
    {
      name: 'one key of a KeyedLimitSet of one limit',
      create: (...where) => aKeyOfASet([limit], ...where),
      refillMs,
    },
    {
      name: 'one key of a KeyedFixedWindow',
      create: (...where) => KeyedFixedWindow.create({ ...window, ...keyed(...where) }).for('key'),
      refillMs,
    },
    {
      name: 'allOf',
      create: (...where) =>
        allOf(
          TokenBucket.create({ ...limit, ...at(...where) }),
          rested(LeakyBucket.create({ rate: 1000, slack: 99, ...at(...where) })),
          TokenBucket.create({ rate: 1000, burst: 100, ...at(...where) }),
          SlidingWindow.create({ limit: 100, intervalMs: 50, ...at(...where) }),
          SlidingLog.create({ limit: 50, intervalMs: 20, ...at(...where) }),
          aKey({ rate: 1000, burst: 50 }, ...where),
        ),
      refillMs,
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
