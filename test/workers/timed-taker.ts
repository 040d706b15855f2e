import {
  attach,
  type KeyedLimitSet,
  type LimiterHandle,
  type LimitSet,
  systemClock,
} from '../../src/index.ts';
import { handleFor, type KernelMix } from '../support/kernels.ts';
import { serve } from '../support/serve.ts';
import { KEY, SpendLog } from '../support/spend-times.ts';

/** Takes tokens on the system clock until stopped or ended, and logs when. */
export interface TakerJob {
  readonly handle: LimiterHandle<'limit-set' | 'keyed-limit-set'>;
  readonly kernels: KernelMix;
  readonly log: SharedArrayBuffer;
  readonly lane: number;
  readonly limits: number;
}

/** Changes all the time would let none of them succeed for long. */
const CALLS_PER_CHANGE = 100;

serve(({ handle, kernels, log, lane, limits }: TakerJob) => {
  const limiter = attach(handleFor(handle, kernels, lane)) as LimitSet | KeyedLimitSet;
  const taking = 'for' in limiter ? limiter.for(KEY) : limiter;
  const spent = new SpendLog(log, lane);
  // No change, but written and published as one.
  const same = { limits: Array.from({ length: limits }, () => ({})) };
  const calls = [
    () => (taking.tryConsume() ? 1 : 0),
    () => taking.consumeOrDrain(3),
    () => (taking.tryConsume(2) ? 2 : 0),
    () => (taking.waitSync(1, { timeoutMs: 2 }) ? 1 : 0),
  ];
  for (let call = lane; !spent.isOver; call++) {
    if (call % CALLS_PER_CHANGE === 0) limiter.reconfigure(same);
    const fromUs = systemClock.now();
    const n = calls[call % calls.length]?.() ?? 0;
    if (n > 0) spent.add(fromUs, systemClock.now(), n);
  }
});
