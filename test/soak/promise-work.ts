import { attach, type LimiterHandle, type Reservation } from '../../src/index.ts';
import type { Random } from '../support/random.ts';
import type { WindowKind } from '../support/window-kinds.ts';
import type { Admitted, SoakJob } from './job.ts';
import type { Ledger } from './ledger.ts';
import type { Work } from './work.ts';

/** Takes from a small bucket and records the instants, except for cancelled reservations. */
export function promiseWork(job: SoakJob, ledger: Ledger, random: Random): Work {
  const bucket = attach(job.handle as LimiterHandle<'token-bucket' | 'limit-set'>);
  const admitted: Admitted[] = [];
  let open: { readonly n: number; readonly reservation: Reservation }[] = [];
  const keep = () => {
    for (const { n, reservation } of open) admitted.push({ n, atUs: reservation.atUs });
    open = [];
  };
  const step = () => {
    const n = 1 + random.below(4);
    ledger.begin(job.line, 0, n);
    const reservation = bucket.reserve(n, { maxWaitMs: random.below(3) * 10 });
    if (reservation !== undefined) open.push({ n, reservation });
    ledger.end(job.line, 0, reservation === undefined ? 0 : n, n);
    // The latest can be cancelled if no other thread has taken tokens since.
    if (open.length > 0 && random.below(3) === 0) {
      const latest = open.pop();
      if (latest?.reservation.cancel() === false) open.push(latest);
    }
    if (open.length > 8) keep();
  };
  return { step, admitted, rest: async () => keep() };
}

/** Takes from a window and records the clock reading on which each admission is based. */
export function windowWork(job: SoakJob, ledger: Ledger, random: Random): Work {
  const window = attach(job.handle as LimiterHandle<WindowKind>);
  const { clock } = window;
  const now = clock.now.bind(clock);
  let readUs = now();
  clock.now = () => {
    readUs = now();
    return readUs;
  };
  const admitted: Admitted[] = [];
  const step = () => {
    const n = 1 + random.below(3);
    ledger.begin(job.line, 0, n);
    const took = random.below(2) === 0 ? window.consumeOrDrain(n) : window.tryConsume(n) ? n : 0;
    ledger.end(job.line, 0, took, n);
    if (took > 0) admitted.push({ atUs: readUs, n: took });
  };
  return { step, admitted };
}
