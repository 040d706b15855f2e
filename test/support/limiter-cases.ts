import { attach, type KernelName, type LimiterHandle, ManualClock } from '../../src/index.ts';
import { KINDS, type Taker, takerOf } from './kinds.ts';
import { PlainBucket } from './plain-limiter.ts';

/** One limiter class under the contract: it admits `LIMIT` at once, then nothing for a while. */
export interface LimiterCase {
  readonly name: string;
  /** What works on its memory: a kernel, or the page's plain code. */
  readonly kernel: KernelName | 'plain';
  readonly create: (clock: ManualClock) => Taker;
  /** Attaches a copy as another thread would; undefined for limiters without a handle. */
  readonly attach?: (limiter: Taker) => Taker;
  /** Milliseconds until all of `LIMIT` can be taken again. */
  readonly refillMs: number;
}

/** The tokens that every case admits at once. */
export const LIMIT = 5;
const REFILL_MS = 500;

function copy(limiter: Taker): Taker {
  return attach(structuredClone(limiter.handle) as LimiterHandle<'token-bucket'>);
}

/** The algorithm on a page, under the same contract. */
const PLAIN: LimiterCase = {
  name: 'PlainBucket',
  kernel: 'plain',
  create: (clock) => PlainBucket.create({ rate: 10, burst: LIMIT, clock }),
  attach: (limiter) => {
    if (!(limiter instanceof PlainBucket)) throw new TypeError('not a PlainBucket');
    return PlainBucket.attach(limiter.memory, { rate: 10, burst: LIMIT, clock: limiter.clock });
  },
  refillMs: REFILL_MS,
};

export const LIMITER_CASES: readonly LimiterCase[] = [
  ...(['wasm', 'atomics'] as const).flatMap((kernel) =>
    KINDS.map(({ name, create }): LimiterCase => {
      const made = { limit: LIMIT, refillMs: REFILL_MS, kernel, stats: true };
      const hasHandle = !name.startsWith('Keyed') && name !== 'allOf';
      return {
        ...{ name, kernel, refillMs: REFILL_MS },
        create: (clock) => takerOf(create({ ...made, clock })),
        ...(hasHandle && { attach: copy }),
      };
    }),
  ),
  PLAIN,
];

/** A clock at an arbitrary valid time. */
export function someClock(): ManualClock {
  return ManualClock.create({ nowMs: 123_456 });
}
