import { parentPort, workerData } from 'node:worker_threads';
import { type LimiterHandle, TokenBucket } from '../../src/index.ts';
import { attachTo } from './subjects.ts';

/** The `workerData` of a smoke test thread. */
export interface ThreadData {
  /** The thread makes `attempts` calls on each. */
  readonly handles: readonly LimiterHandle[];
  readonly attempts: number;
  /** A token bucket to call through a lease, in the same way. */
  readonly leased: LimiterHandle<'token-bucket'>;
  /** A bucket on the system clock, for one blocking wait. */
  readonly waited: LimiterHandle<'token-bucket'>;
}

/** Tokens admitted by each limiter and by the lease, and whether the wait succeeded. */
export interface ThreadAnswer {
  readonly admitted: readonly number[];
  readonly leased: number;
  readonly waited: boolean;
}

const { handles, attempts, leased, waited } = workerData as ThreadData;

function admissions(attempt: () => boolean): number {
  let admitted = 0;
  for (let made = 0; made < attempts; made++) if (attempt()) admitted++;
  return admitted;
}

const lease = TokenBucket.attach(leased).lease({ size: 8 });
const answer: ThreadAnswer = {
  admitted: handles.map(attachTo).map((subject) => admissions(() => subject.tryConsume())),
  leased: admissions(() => lease.tryConsume()),
  waited: TokenBucket.attach(waited).waitSync(),
};
lease.release();
parentPort?.postMessage(answer);
