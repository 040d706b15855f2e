import { attach, type ContinuousLimit, LimitSet, TickerClock, TokenBucket } from '../src/index.ts';

/** The limit of a load, and whether to count calls. */
interface BenchLimit extends ContinuousLimit {
  readonly initial: number;
  readonly stats?: boolean;
}

export type Limited = TokenBucket | LimitSet;

/** One way to take a token from a shared bucket. */
export interface Variant {
  readonly name: string;
  /** Creates the bucket once, in the main thread. */
  readonly create: (limit: BenchLimit) => Limited | Promise<Limited>;
  /** Returns the call to measure, in each thread. */
  readonly open: (handle: Limited['handle']) => () => boolean;
}

function tryConsume(handle: Limited['handle']): () => boolean {
  const bucket = attach(handle);
  return () => bucket.tryConsume();
}

/** The default usage, which the peers are compared with. */
export const PLAIN: Variant = {
  name: 'zerotime',
  create: (limit) => TokenBucket.create(limit),
  open: tryConsume,
};

const ATOMICS: Variant = {
  name: 'zerotime, Atomics kernel',
  create: (limit) => TokenBucket.create({ ...limit, kernel: 'atomics' }),
  open: tryConsume,
};

export const TICKER: Variant = {
  name: 'zerotime, TickerClock',
  create: async (limit) => TokenBucket.create({ ...limit, clock: await TickerClock.create() }),
  open: tryConsume,
};

export const LEASED: Variant = {
  name: 'zerotime, leased 64',
  create: PLAIN.create,
  open: (handle) => {
    const lease = attach(handle).lease({ size: 64 });
    return () => lease.tryConsume();
  },
};

/** The measured variants. aims.ts refers to them by name. */
export const VARIANTS: readonly Variant[] = [PLAIN, ATOMICS, TICKER, LEASED];

/** A set of limits, each that of the load. */
function several(count: number): Variant {
  return {
    name: `zerotime, ${count} limits`,
    create: ({ rate, burst, ...others }) =>
      LimitSet.create({
        limits: Array.from({ length: count }, () => ({ rate, burst })),
        ...others,
      }),
    open: tryConsume,
  };
}

export const TWO_LIMITS = several(2);
export const EIGHT_LIMITS = several(8);

/** All variants that a worker can be asked for. */
export const ALL_VARIANTS: readonly Variant[] = [...VARIANTS, TWO_LIMITS, EIGHT_LIMITS];
