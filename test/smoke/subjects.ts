import { attach, type KernelName, type LimiterHandle, type ManualClock } from '../../src/index.ts';
import { KINDS, type Subject, type Taker, takerOf } from '../support/kinds.ts';

/** The tokens that every limiter of the smoke test admits at once. */
export const LIMIT = 50;
/** Milliseconds until each limiter admits that many again. */
export const REFILL_MS = 1000;

type Shared = Subject & { readonly handle: LimiterHandle };

/** One limiter of each kind that has a handle, by name. */
export function createEach(kernel: KernelName, clock: ManualClock): Record<string, Shared> {
  const made = { kernel, clock, stats: true, limit: LIMIT, refillMs: REFILL_MS };
  const all = KINDS.map(({ name, create }) => [name, create(made)] as const);
  const isShared = (one: readonly [string, Subject]): one is [string, Shared] =>
    one[1].handle !== undefined;
  return Object.fromEntries(all.filter(isShared));
}

/** The limiter, or a key of a table. */
export function subjectOf(limiter: Subject): Taker {
  return takerOf(limiter);
}

/** Attaches to a limiter of any class. */
export function attachTo(handle: LimiterHandle): Taker {
  return takerOf(attach(handle as LimiterHandle<'token-bucket' | 'keyed-token-bucket'>) as Subject);
}
