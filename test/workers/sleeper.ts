import { allOf, attach, type LimiterHandle } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';
import { serve } from '../support/serve.ts';

/** Waits for tokens, and reports when it got them. */
export interface SleepJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  /** A second limiter that must also admit. */
  readonly also?: LimiterHandle<'token-bucket'>;
  readonly call: 'wait' | 'waitSync';
  readonly waits: number;
  /** The thread arrives here after each wait. */
  readonly ended: SharedArrayBuffer;
}

/** The instants, in microseconds of the bucket's clock, at which the waits ended. */
export type Slept = readonly number[];

serve(async ({ handle, also, call, waits, ended }: SleepJob): Promise<Slept> => {
  const bucket = attach(handle);
  const limiter = also === undefined ? bucket : allOf(bucket, attach(also));
  const gate = new Gate(ended);
  const endedAt: number[] = [];
  for (let i = 0; i < waits; i++) {
    if (call === 'wait') await limiter.wait();
    else limiter.waitSync();
    endedAt.push(bucket.clock.now());
    gate.arrive();
  }
  return endedAt;
});
