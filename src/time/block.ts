import { RateLimitError } from '../errors.ts';
import type { Alarm } from '../memory/alarm.ts';

/**
 * Blocks the thread until the alarm goes off or the time is over.
 *
 * @throws RateLimitError `ERR_CANNOT_BLOCK` in a page's main thread, which cannot block.
 */
export function block({ words, at, value }: Alarm, timeoutMs?: number): 'over' | 'alarm' {
  try {
    return Atomics.wait(words, at, value, timeoutMs) === 'timed-out' ? 'over' : 'alarm';
  } catch (cause) {
    throw new RateLimitError(
      'ERR_CANNOT_BLOCK',
      "a page's main thread cannot block: await wait() instead, or call waitSync in a worker",
      { cause },
    );
  }
}
