import { parentPort, workerData } from 'node:worker_threads';
import { type LimiterHandle, TokenBucket } from '../../src/index.ts';
import { attachTo } from './subjects.ts';

/** What a thread of the smoke test is started with. */
export interface ThreadData {
  /** Asked for tokens, so many times each. */
  readonly handles: readonly LimiterHandle[];
  readonly attempts: number;
  /** A token bucket: taken from by a lease, in the same way. */
  readonly leased: LimiterHandle<'token-bucket'>;
  /** A bucket on a clock that runs: waited on once, blocking. */
  readonly waited: LimiterHandle<'token-bucket'>;
}

/** What it answers: tokens admitted by each limiter and by the lease, and whether the wait ended. */
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
