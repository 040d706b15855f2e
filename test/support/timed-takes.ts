import { type KeyedLimitSet, type LimitSet, systemClock } from '../../src/index.ts';
import type { SpendLog } from './spend-times.ts';

/** The key whose tokens are taken, if there are keys. */
const KEY = 'hot';
/** Changes all the time would let none of them succeed for long. */
const CALLS_PER_CHANGE = 100;

/**
 * Takes tokens on the system clock, and logs between which readings. Now and then it writes the limits
 * that are there, so that a thread may be killed in a change.
 */
export function timedTakes(
  limiter: LimitSet | KeyedLimitSet,
  spent: SpendLog,
  first: number,
): () => void {
  const taking = 'for' in limiter ? limiter.for(KEY) : limiter;
  const same = { limits: limiter.limits.map(() => ({})) };
  const calls = [
    () => (taking.tryConsume() ? 1 : 0),
    () => taking.consumeOrDrain(3),
    () => (taking.tryConsume(2) ? 2 : 0),
    () => (taking.waitSync(1, { timeoutMs: 2 }) ? 1 : 0),
  ];
  let call = first;
  return () => {
    if (call % CALLS_PER_CHANGE === 0) limiter.reconfigure(same);
    const fromUs = systemClock.now();
    const n = calls[call++ % calls.length]?.() ?? 0;
    if (n > 0) spent.add(fromUs, systemClock.now(), n);
  };
}
