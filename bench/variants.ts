import { attach, TickerClock, TokenBucket, type TokenBucketOptions } from '../src/index.ts';

/** One way to take a token from a shared bucket. */
export interface Variant {
  readonly name: string;
  /** Creates the bucket once, in the main thread. */
  readonly create: (limit: TokenBucketOptions) => TokenBucket | Promise<TokenBucket>;
  /** Returns the call to measure, in each thread. */
  readonly open: (handle: TokenBucket['handle']) => () => boolean;
}

function tryConsume(handle: TokenBucket['handle']): () => boolean {
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
