import { attach, type LimiterHandle } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';
import { Random } from '../support/random.ts';
import { serve } from '../support/serve.ts';

/** Borrows tokens without a maximum wait, together with other threads. */
export interface BorrowJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  readonly gate: SharedArrayBuffer;
  /** The number of arrivals that opens the gate. */
  readonly arrivals: number;
  readonly borrows: number;
  readonly seed: number;
}

/** The tokens borrowed, and the milliseconds to wait for them. */
export interface Borrowed {
  readonly n: number;
  readonly waitMs: number;
}

serve(({ handle, gate, arrivals, borrows, seed }: BorrowJob, me): Borrowed[] => {
  const bucket = attach(handle);
  const random = new Random(seed + me);
  const amounts = Array.from({ length: borrows }, () => 1 + random.below(4));
  const start = new Gate(gate);
  start.arrive();
  start.await(arrivals);
  return amounts.map((n) => ({ n, waitMs: bucket.acquire(n) }));
});
