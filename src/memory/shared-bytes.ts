import { RateLimitError } from '../errors.ts';

/**
 * Allocates shared memory.
 *
 * @throws RateLimitError `ERR_NO_SHARED_MEMORY` in a page that is not cross-origin isolated.
 */
export function sharedBytes(bytes: number): SharedArrayBuffer {
  checkSharedMemory();
  return new SharedArrayBuffer(bytes);
}

/** Throws as {@link sharedBytes} does if there is no shared memory. */
export function checkSharedMemory(): void {
  if (typeof SharedArrayBuffer !== 'undefined') return;
  throw new RateLimitError(
    'ERR_NO_SHARED_MEMORY',
    'SharedArrayBuffer is missing: serve the page with Cross-Origin-Opener-Policy: same-origin and ' +
      'Cross-Origin-Embedder-Policy: require-corp',
  );
}
