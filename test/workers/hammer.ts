import {
  attach,
  type ContinuousLimit,
  type LimiterHandle,
  ManualClock,
  type QuantumLimit,
} from '../../src/index.ts';
import { Board } from '../support/board.ts';
import { handleFor, type KernelMix } from '../support/kernels.ts';
import { serve } from '../support/serve.ts';

/** Takes tokens from a bucket as fast as it can, until it is stopped. */
export interface HammerJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  readonly board: SharedArrayBuffer;
  /** Which kernels the threads run; by default, all the handle's. */
  readonly kernels?: KernelMix;
  /** How: `n` tokens or none; as many as there are, up to `n`; or `n` tokens that it gives back. */
  readonly call: 'tryConsume' | 'consumeOrDrain' | 'take and return';
  readonly n: number;
  /** Of each thread's lease; without one it goes to the bucket itself. */
  readonly leased?: number;
  /** Puts these limits in force in turn, one before every 16th call. */
  readonly limits?: readonly (ContinuousLimit | QuantumLimit)[];
}

serve(({ handle, board, kernels, call, n, leased, limits = [] }: HammerJob, me) => {
  const bucket = attach(kernels === undefined ? handle : handleFor(handle, kernels, me));
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
