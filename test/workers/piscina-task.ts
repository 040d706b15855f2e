import { workerData } from 'piscina';
import { type LimiterHandle, TokenBucket } from '../../src/index.ts';

const { bucket: handle } = workerData as { bucket: LimiterHandle<'token-bucket'> };
const bucket = TokenBucket.attach(handle);

/** A task that makes a number of calls for one token each, and returns how many succeeded. */
export default function take(times: number): number {
  let taken = 0;
  for (let i = 0; i < times; i++) {
    if (bucket.tryConsume()) taken++;
  }
  return taken;
}
