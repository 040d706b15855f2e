import { workerData } from 'piscina';
import { type LimiterHandle, TokenBucket } from '../../src/index.ts';

const { bucket: handle } = workerData as { bucket: LimiterHandle<'token-bucket'> };
const bucket = TokenBucket.attach(handle);

/** A task: takes tokens one by one, as often as it is told, and returns how many it got. */
export default function take(times: number): number {
  let taken = 0;
  for (let i = 0; i < times; i++) {
    if (bucket.tryConsume()) taken++;
  }
  return taken;
}
