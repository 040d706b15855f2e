// Entry point `zerotime/keyed`: an alias for a part of `zerotime`.
export {
  type Key,
  type KeyBucket,
  KeyedFixedWindow,
  type KeyedFixedWindowOptions,
  type KeyedLimitChange,
  KeyedLimitSet,
  type KeyedLimitSetOptions,
  type KeyedStats,
  KeyedTokenBucket,
  type KeyedTokenBucketOptions,
  type KeyedWindowChange,
  type KeyWindow,
  type TableOptions,
  type TierOptions,
  type WhenFull,
} from './index.ts';
