import {
  attach,
  type ContinuousLimit,
  type LimiterHandle,
  ManualClock,
  type QuantumLimit,
  type TokenBucket,
} from '../../src/index.ts';
import { Board } from '../support/board.ts';
import { handleFor, type KernelMix } from '../support/kernels.ts';
import { type Subject, takerOf } from '../support/kinds.ts';
import { serve } from '../support/serve.ts';

/** Takes tokens from a limiter, or from a key, as fast as possible until stopped. */
export interface HammerJob {
  readonly handle: LimiterHandle;
  readonly board: SharedArrayBuffer;
  /** The kernels of the threads; by default the handle's. */
  readonly kernels?: KernelMix;
  /** What it does: takes `n` tokens or none, takes up to `n`, or takes `n` and returns them. */
  readonly call: 'tryConsume' | 'consumeOrDrain' | 'take and return';
  readonly n: number;
  /** The size of each thread's lease; if undefined, the thread calls the bucket itself. */
  readonly leased?: number;
  /** Switches to these limits in turn, before every 16th call. */
  readonly limits?: readonly (ContinuousLimit | QuantumLimit)[];
}

serve(({ handle, board, kernels, call, n, leased, limits = [] }: HammerJob, me) => {
  // Only the buckets of a test have leases, or are reconfigured.
  const own = handle as LimiterHandle<'token-bucket'>;
  const attached: Subject = attach(kernels === undefined ? own : handleFor(own, kernels, me));
  const bucket = takerOf(attached) as TokenBucket;
  const { clock } = bucket;
  const spender = leased === undefined ? bucket : bucket.lease({ size: leased });
  let calls = me;
  const attempt = () => {
    calls++;
    const limit = calls % 16 === 0 ? limits[(calls / 16) % limits.length] : undefined;
    if (limit !== undefined) bucket.reconfigure(limit);
    if (call === 'consumeOrDrain') return spender.consumeOrDrain(n);
    const admitted = spender.tryConsume(n);
    if (call === 'tryConsume') return admitted ? n : 0;
    if (admitted) bucket.returnTokens(n);
    return 0;
  };
  const moveTo = clock instanceof ManualClock ? (nowMs: number) => clock.set(nowMs) : undefined;
  new Board(board).drive(me, attempt, moveTo);
});
