import { type LimiterHandle, TokenBucket } from '../../src/index.ts';
import { attachTo } from '../smoke/subjects.ts';

// Runs in a web worker: makes calls on limiters that the page created.

/** What a worker is asked to do. */
export interface WebJob {
  /** The worker makes `attempts` calls on each. */
  readonly handles: readonly LimiterHandle[];
  readonly attempts: number;
  /** A bucket on the system clock, for a blocking wait and a strict one. */
  readonly waited: LimiterHandle<'token-bucket'>;
}

/** Tokens admitted by each limiter, and whether both waits ended. */
export interface WebAnswer {
  readonly admitted: readonly number[];
  readonly waited: boolean;
}

declare const self: {
  onmessage: (event: { readonly data: WebJob }) => void;
  postMessage(answer: WebAnswer): void;
};

self.onmessage = async ({ data: { handles, attempts, waited } }) => {
  const admitted = handles.map(attachTo).map((subject) => {
    let count = 0;
    for (let made = 0; made < attempts; made++) if (subject.tryConsume()) count++;
    return count;
  });
  const bucket = TokenBucket.attach(waited);
  await bucket.wait(1, { strict: true });
  self.postMessage({ admitted, waited: bucket.waitSync() });
};
