import { attach, TokenBucket, type TokenBucketOptions } from '../src/index.ts';

/** One way to take a token from a bucket that threads share. */
export interface Variant {
  readonly name: string;
  /** Makes the bucket, once, in the main thread. */
  readonly create: (limit: TokenBucketOptions) => TokenBucket;
  /** Makes the call, in each thread. */
  readonly open: (handle: TokenBucket['handle']) => () => boolean;
}

/** The first one is what the peers are compared with: the call as a user makes it. */
export const PLAIN: Variant = {
  name: 'zerotime',
  create: (limit) => TokenBucket.create(limit),
  open: (handle) => {
    const bucket = attach(handle);
    return () => bucket.tryConsume();
  },
};

/** Each is measured beside the peers, under its name; aims.ts may name it. */
export const VARIANTS: readonly Variant[] = [PLAIN];
