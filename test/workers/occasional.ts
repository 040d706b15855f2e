import { type LimiterHandle, Sometimes } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';
import { handleFor, type KernelMix } from '../support/kernels.ts';
import { serve } from '../support/serve.ts';

/** Makes a number of calls, together with other threads. */
export interface OccasionalJob {
  readonly handle: LimiterHandle<'sometimes'>;
  readonly kernels: KernelMix;
  readonly gate: SharedArrayBuffer;
  readonly arrivals: number;
  readonly calls: number;
}

serve(({ handle, kernels, gate, arrivals, calls }: OccasionalJob, me): number => {
  const sometimes = Sometimes.attach(handleFor(handle, kernels, me));
  const start = new Gate(gate);
  start.arrive();
  start.await(arrivals);
  let acted = 0;
  for (let call = 0; call < calls; call++) sometimes.do(() => acted++);
  return acted;
});
