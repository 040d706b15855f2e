import {
  attach,
  FixedWindow,
  type KernelName,
  LeakyBucket,
  type LimiterHandle,
  LimitSet,
  type ManualClock,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedFixedWindow, KeyedLimitSet, KeyedTokenBucket } from '../../src/keyed.ts';

/** The tokens that every limiter of the smoke test admits at once. */
export const LIMIT = 50;
/** Milliseconds until each limiter admits that many again. */
export const REFILL_MS = 1000;
/** The key under which a keyed table is tested as a single limiter. */
const KEY = 'everybody';

/** One limiter of each class, by class name. */
export function createEach(kernel: KernelName, clock: ManualClock) {
  const shared = { kernel, clock, stats: true };
  const window = { ...shared, limit: LIMIT, intervalMs: REFILL_MS };
  const leaky = LeakyBucket.create({ ...shared, rate: LIMIT, slack: LIMIT - 1 });
  leaky.returnTokens(LIMIT - 1); // as if it had idled
  return {
    TokenBucket: TokenBucket.create({ ...shared, rate: LIMIT, burst: LIMIT }),
    'TokenBucket with a quantum': TokenBucket.create({
      ...shared,
      quantum: LIMIT,
      fillIntervalMs: REFILL_MS,
      burst: LIMIT,
    }),
    LimitSet: LimitSet.create({
      ...shared,
      limits: [
        { rate: LIMIT, burst: LIMIT },
        { rate: 2 * LIMIT, burst: 2 * LIMIT },
      ],
    }),
    LeakyBucket: leaky,
    FixedWindow: FixedWindow.create(window),
    SlidingWindow: SlidingWindow.create(window),
    SlidingLog: SlidingLog.create(window),
    KeyedTokenBucket: KeyedTokenBucket.create({
      ...shared,
      rate: LIMIT,
      burst: LIMIT,
      capacity: 100,
    }),
    KeyedLimitSet: KeyedLimitSet.create({
      ...shared,
      limits: [
        { rate: LIMIT, burst: LIMIT },
        { rate: 2 * LIMIT, burst: 2 * LIMIT },
      ],
      capacity: 100,
    }),
    KeyedFixedWindow: KeyedFixedWindow.create({ ...window, capacity: 100 }),
  };
}

/** The methods that all classes have. */
export interface Subject {
  tryConsume(n?: number): boolean;
  available(): number;
}

/** A limiter of any class; for a keyed table, the bucket of one key. */
export function subjectOf(limiter: Subject | { for(key: string): Subject }): Subject {
  return 'for' in limiter ? limiter.for(KEY) : limiter;
}

/** Attaches to a limiter of any class. */
export function attachTo(handle: LimiterHandle): Subject {
  return subjectOf(attach(handle as LimiterHandle<'token-bucket' | 'keyed-token-bucket'>));
}
