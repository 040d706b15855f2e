// The entry point `zerotime/keyed`: an alias for a part of `zerotime`.
export {
  type Key,
  type KeyBucket,
  type KeyedStats,
  KeyedTokenBucket,
  type KeyedTokenBucketOptions,
  type WhenFull,
} from './index.ts';
