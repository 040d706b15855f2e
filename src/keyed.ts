// An entry point of its own, `zerotime/keyed`, because keys are hashed by a library.

export type { KeyedStats } from './kernel/keyed/host.ts';
export type { Key } from './kernel/keyed/message.ts';
export type { WhenFull } from './kernel/keyed/words.ts';
export type { KeyBucket } from './limiters/key-bucket.ts';
export { KeyedTokenBucket, type KeyedTokenBucketOptions } from './limiters/keyed-token-bucket.ts';
