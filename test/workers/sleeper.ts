import { attach, type LimiterHandle } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';
import { serve } from '../support/serve.ts';

/** Waits for tokens, and tells when it got them. */
export interface SleepJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  readonly call: 'wait' | 'waitSync';
  readonly waits: number;
  /** Arrived at before each wait. */
  readonly gate: SharedArrayBuffer;
}

/** The instants, in microseconds of the bucket's clock, at which the waits ended. */
export type Slept = readonly number[];

serve(async ({ handle, call, waits, gate }: SleepJob): Promise<Slept> => {
  const bucket = attach(handle);
  const ended: number[] = [];
  for (let i = 0; i < waits; i++) {
    const before = new Gate(gate);
    if (call === 'wait') {
      const waiting = bucket.wait();
      before.arrive();
      await waiting;
    } else {
      before.arrive();
      bucket.waitSync();
    }
    ended.push(bucket.clock.now());
  }
  return ended;
});
