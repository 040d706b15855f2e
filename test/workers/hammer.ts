import { attach, type BucketHandle, ManualClock } from '../../src/index.ts';
import { Board } from '../support/board.ts';
import { serve } from '../support/serve.ts';

/** Takes tokens from a bucket as fast as it can, until it is stopped. */
export interface HammerJob {
  readonly handle: BucketHandle<'token-bucket'>;
  readonly board: SharedArrayBuffer;
  /** How: `n` tokens or none, or as many as there are up to `n`. */
  readonly call: 'tryConsume' | 'consumeOrDrain';
  readonly n: number;
}

serve(({ handle, board, call, n }: HammerJob, me) => {
  const bucket = attach(handle);
  const attempt =
    call === 'tryConsume' ? () => (bucket.tryConsume(n) ? n : 0) : () => bucket.consumeOrDrain(n);
  const { clock } = bucket;
  const moveTo = clock instanceof ManualClock ? (nowMs: number) => clock.set(nowMs) : undefined;
  new Board(board).drive(me, attempt, moveTo);
});
