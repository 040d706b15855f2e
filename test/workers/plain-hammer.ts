import { ManualClock } from '../../src/index.ts';
import type { ClockHandle } from '../../src/time/clock.ts';
import { Board } from '../support/board.ts';
import { PlainBucket } from '../support/plain-limiter.ts';
import { serve } from '../support/serve.ts';

/** Takes single tokens from a plain bucket as fast as it can, until it is stopped. */
export interface PlainJob {
  readonly memory: SharedArrayBuffer;
  readonly rate: number;
  readonly burst: number;
  readonly clock: ClockHandle;
  readonly board: SharedArrayBuffer;
  /** Int32: the exchanges that all threads lost. */
  readonly lost: SharedArrayBuffer;
}

serve(({ memory, clock: handle, board, lost, ...limit }: PlainJob, me) => {
  const clock = ManualClock.attach(handle);
  const bucket = PlainBucket.attach(memory, { ...limit, clock });
  const failedExchanges = new Int32Array(lost);
  let counted = 0;
  const attempt = () => {
    const admitted = bucket.tryConsume() ? 1 : 0;
    if (bucket.failedExchanges > counted) {
      Atomics.add(failedExchanges, 0, bucket.failedExchanges - counted);
      counted = bucket.failedExchanges;
    }
    return admitted;
  };
  new Board(board).drive(me, attempt, (nowMs) => clock.set(nowMs));
});
