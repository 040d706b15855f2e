import type { Limiter, WaitOptions } from '../../limiters/limiter.ts';
import { shown } from '../../options.ts';

/** The limiter methods that throttled streams need. Every zerotime limiter has them. */
export interface ByteLimiter extends Pick<Limiter, 'limit'> {
  /** Waits until `n` tokens are available, and takes them. */
  wait(n?: number, options?: WaitOptions): Promise<unknown>;
}

/** @throws TypeError if it is not a limiter. */
export function checkByteLimiter(limiter: ByteLimiter): ByteLimiter {
  if (typeof limiter?.wait === 'function') return limiter;
  throw new TypeError(`limiter must be a limiter, got ${shown(limiter)}`);
}

/**
 * Yields the bytes in pieces of at most the limiter's burst, each when its tokens, one for each
 * byte, have been taken. Takes none before a piece is wanted. Pieces are views: nothing is copied.
 */
export async function* paced<Bytes extends Uint8Array>(
  bytes: Bytes,
  limiter: ByteLimiter,
  signal: AbortSignal,
  wanted?: () => Promise<void>,
): AsyncGenerator<Bytes> {
  for (let at = 0; at < bytes.length; ) {
    // A paused window has a limit of 0, and one byte waits for that to change.
    const size = Math.min(bytes.length - at, Math.max(1, Math.floor(limiter.limit)));
    await wanted?.();
    await limiter.wait(size, { signal });
    yield bytes.subarray(at, at + size) as Bytes; // of the same class
    at += size;
  }
}
