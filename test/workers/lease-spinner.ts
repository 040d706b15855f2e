import { attach, type LimiterHandle } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';
import { serve } from '../support/serve.ts';

/** Spends a stock that would last an hour, in a tight loop. */
export interface SpinJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  /** The thread arrives here once the loop is compiled. */
  readonly spinning: SharedArrayBuffer;
}

const SIZE = 2 ** 20;
const LITTLE = 1 / SIZE;
const WARM_UP = 5_000_000;

serve(({ handle, spinning }: SpinJob) => {
  const lease = attach(handle).lease({ size: SIZE });
  const spend = (times: number) => {
    let spent = 0;
    while (spent < times && lease.tryConsume(LITTLE)) spent++;
    return spent;
  };
  spend(WARM_UP);
  new Gate(spinning).arrive();
  spend(Number.POSITIVE_INFINITY);
});
