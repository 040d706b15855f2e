import { attach, type LimiterHandle, type Reservation } from '../../src/index.ts';
import { type Subject, takerOf } from '../support/kinds.ts';
import type { Random } from '../support/random.ts';
import type { Admitted, SoakJob, Work } from './job.ts';
import type { Ledger } from './ledger.ts';

/** How far ahead a reservation can be. */
export const MOST_AHEAD_MS = 20;

/**
 * Takes from any limiter, or from a key, and records the instants: of a reservation its own, unless it
 * is cancelled, and of other calls the reading of the clock on which they are based.
 */
export function takerWork(job: SoakJob, ledger: Ledger, random: Random): Work {
  const taker = takerOf(attach(job.handle as LimiterHandle<'token-bucket'>) as Subject);
  const { clock } = taker;
  const now = clock.now.bind(clock);
  let readUs = now();
  clock.now = () => {
    readUs = now();
    return readUs;
  };
  const admitted: Admitted[] = [];
  let open: { readonly n: number; readonly reservation: Reservation }[] = [];
  const keep = () => {
    for (const { n, reservation } of open) admitted.push({ n, atUs: reservation.atUs });
    open = [];
  };
  const reserve = (n: number) => {
    const reservation = taker.reserve?.(n, { maxWaitMs: random.below(3) * (MOST_AHEAD_MS / 2) });
    if (reservation === undefined) return 0;
    open.push({ n, reservation });
    return n;
  };
  const take = (n: number) => {
    if (taker.reserve !== undefined && random.below(2) === 0) return reserve(n);
    const took = random.below(2) === 0 ? taker.consumeOrDrain?.(n) : taker.tryConsume(n) && n;
    if (took) admitted.push({ atUs: readUs, n: took });
    return took || 0;
  };
  const step = () => {
    const n = 1 + random.below(4);
    ledger.begin(job.line, 0, n);
    ledger.end(job.line, 0, take(n), n);
    // The latest can be cancelled if no other thread has taken tokens since.
    if (open.length > 0 && random.below(3) === 0) {
      const latest = open.pop();
      const n = latest?.n ?? 0;
      ledger.begin(job.line, 0, 0, n);
      const isBack = latest?.reservation.cancel() === true;
      if (latest !== undefined && !isBack) open.push(latest);
      ledger.end(job.line, 0, isBack ? -n : 0, 0, n);
    }
    if (open.length > 8) keep();
  };
  return { step, admitted, rest: async () => keep() };
}
