import { checkObject, shown } from '../options.ts';
import type { Permit } from './permit.ts';
import type { AcquireOptions, RunOptions } from './semaphore-options.ts';

/**
 * Releases a permit after a failure. Its expiry is ignored: the failure's own error matters more.
 */
export function drop(permit: Permit): void {
  try {
    permit.release();
  } catch {}
}

/** Runs a function with the permit from `acquire`. */
export async function runWithPermit<T>(
  acquire: (n: number | undefined, options: AcquireOptions) => Promise<Permit>,
  action: () => T | PromiseLike<T>,
  options: RunOptions,
): Promise<T> {
  if (typeof action !== 'function') {
    throw new TypeError(`action must be a function, got ${shown(action)}`);
  }
  const { n, ...waiting } = checkObject('options', options);
  const permit = await acquire(n, waiting);
  let result: T;
  try {
    result = await action();
  } catch (error) {
    drop(permit);
    throw error;
  }
  permit.release();
  return result;
}
