import { attach, type LimiterHandle } from '../../src/index.ts';
import { handleFor, type KernelMix } from '../support/kernels.ts';
import { serve } from '../support/serve.ts';
import { SpendLog } from '../support/spend-times.ts';
import { timedTakes } from '../support/timed-takes.ts';

/** Takes tokens on the system clock until stopped or ended, and logs when. */
export interface TakerJob {
  readonly handle: LimiterHandle<'limit-set' | 'keyed-limit-set'>;
  readonly kernels: KernelMix;
  readonly log: SharedArrayBuffer;
  readonly lane: number;
}

serve(({ handle, kernels, log, lane }: TakerJob) => {
  const spent = new SpendLog(log, lane);
  const take = timedTakes(attach(handleFor(handle, kernels, lane)), spent, lane);
  while (!spent.isOver) take();
});
