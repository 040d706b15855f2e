import { attach, type TokenBucket } from '../../src/index.ts';
import { consumeBehindGate } from '../consumer.ts';

consumeBehindGate((handle: TokenBucket['handle']) => {
  const bucket = attach(handle);
  return () => bucket.tryConsume();
});
