// A pool of image workers for uploads, whose users wait, and for a nightly batch, which can wait. Uploads go
// first, customers take turns, and the disk that keeps the results gets at most so many files a second.
import { Piscina } from 'piscina';
import { TokenBucket } from 'zerotime';
import { throttle } from 'zerotime/piscina';

/**
 * @typedef {{ width: number, height: number, pixels: Uint8Array, customer: string, isUpload: boolean }} Job
 * @param {{ rate?: number, burst?: number, threads?: number }} [limits]
 */
export function imagePool({ rate = 200, burst = 20, threads = 2 } = {}) {
  const filename = new URL('thumbnail.mjs', import.meta.url).href;
  const pool = new Piscina({ filename, minThreads: threads, maxThreads: threads });
  return throttle(pool, {
    limiter: TokenBucket.create({ rate, burst }),
    priority: (/** @type {Job} */ { isUpload }) => (isUpload ? 1 : 0),
    key: (/** @type {Job} */ { customer }) => customer,
    maxQueue: 10_000,
  });
}
