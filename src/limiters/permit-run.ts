import { checkObject, shown } from '../options.ts';
import type { CallOutcome } from './adaptation.ts';
import type { Permit } from './permit.ts';
import type { AcquireOptions, RunOptions } from './semaphore-options.ts';

/**
 * Releases a permit after a failure, or without a call. Its expiry is ignored: the failure's own
 * error matters more.
 */
export function drop(permit: Permit, outcome: CallOutcome = 'ignore'): void {
  try {
    permit.release({ outcome });
  } catch {}
}

function isTimeout(error: unknown): boolean {
  const { name } = (error ?? {}) as { readonly name?: unknown };
  return typeof name === 'string' && name.endsWith('TimeoutError');
}

/**
 * The outcome of a call that failed: `'dropped'` after a timeout, as of `AbortSignal.timeout` or
 * undici. Other errors may come from the caller itself, so they say nothing about the server.
 */
export function outcomeOfError(error: unknown): CallOutcome {
  const { cause } = (error ?? {}) as { readonly cause?: unknown };
  return isTimeout(error) || isTimeout(cause) ? 'dropped' : 'ignore';
}

/** The outcome of a failed call by the user's function, whose own errors never matter more. */
export function outcomeBy(outcomeOf: (error: unknown) => CallOutcome, error: unknown): CallOutcome {
  try {
    return outcomeOf(error);
  } catch {
    return 'ignore';
  }
}

/** Checks the option `outcomeOf`. */
export function checkOutcomeOf(outcomeOf: unknown): void {
  if (outcomeOf === undefined || typeof outcomeOf === 'function') return;
  throw new TypeError(`outcomeOf must be a function, got ${shown(outcomeOf)}`);
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
  const { n, outcomeOf = outcomeOfError, ...waiting } = checkObject('options', options);
  checkOutcomeOf(outcomeOf);
  const permit = await acquire(n, waiting);
  let result: T;
  try {
    result = await action();
  } catch (error) {
    drop(permit, outcomeBy(outcomeOf, error));
    throw error;
  }
  permit.release();
  return result;
}
