import { KeyedTokenBucket } from '../../src/keyed.ts';
import { calling, consumeBehindGate } from '../consumer.ts';
import { inTurn, type KeyedLoad, keysOf } from '../loads.ts';

/** The table and the load. */
export interface KeyedData {
  readonly handle: KeyedTokenBucket['handle'];
  readonly load: KeyedLoad;
}

await consumeBehindGate(({ handle, load }: KeyedData) => {
  const buckets = KeyedTokenBucket.attach(handle);
  const keys = keysOf(load);
  for (const key of keys) buckets.tryConsume(key);
  return calling(inTurn(keys, (key) => buckets.tryConsume(key)));
});
