import { RateLimitError } from '../../errors.ts';
import { checkUnkeyed, type Limiter, type WaitOptions } from '../../limiters/limiter.ts';
import { shown } from '../../options.ts';

/** The limiter methods that throttled streams use. Every zerotime limiter has them. */
export interface ByteLimiter extends Pick<Limiter, 'limit'> {
  /** Waits until `n` tokens are available and takes them. */
  wait(n?: number, options?: WaitOptions): Promise<unknown>;
}

/** @throws TypeError if `limiter` is not a limiter. */
export function checkByteLimiter(limiter: ByteLimiter): ByteLimiter {
  checkUnkeyed('limiter', limiter);
  if (typeof limiter?.wait === 'function') return limiter;
  throw new TypeError(`limiter must be a limiter, got ${shown(limiter)}`);
}

/** Maximum bytes per piece. A paused window has limit 0: let one byte wait for a change. */
function pieceOf(limiter: ByteLimiter): number {
  return Math.max(1, Math.floor(limiter.limit));
}

function isTooMuch(error: unknown): boolean {
  return error instanceof RateLimitError && error.code === 'ERR_EXCEEDS_BURST';
}

/**
 * Yields the bytes in pieces of at most the burst, each after taking one token per byte. Takes none
 * before a piece is requested. Pieces are views, not copies.
 */
export async function* paced<Bytes extends Uint8Array>(
  bytes: Bytes,
  limiter: ByteLimiter,
  signal: AbortSignal,
  wanted?: () => Promise<void>,
): AsyncGenerator<Bytes> {
  for (let at = 0; at < bytes.length; ) {
    await wanted?.();
    const size = Math.min(bytes.length - at, pieceOf(limiter));
    try {
      await limiter.wait(size, { signal });
    } catch (error) {
      // The limit was lowered during the wait: smaller pieces still fit.
      if (isTooMuch(error) && size > pieceOf(limiter)) continue;
      throw error;
    }
    yield bytes.subarray(at, at + size) as Bytes; // same class
    at += size;
  }
}
