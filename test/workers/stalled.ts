import { attach, type LimiterHandle } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';
import { serve } from '../support/serve.ts';

/** Makes one call on a bucket, and is suspended between its clock reading and its loop. */
export interface StalledJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  readonly call: StalledCall;
  /** The thread arrives here once it has read the clock. */
  readonly hasRead: SharedArrayBuffer;
  /** The thread waits here before the call continues. */
  readonly mayGoOn: SharedArrayBuffer;
}

export type StalledCall =
  | 'tryConsume'
  | 'consumeOrDrain'
  | 'decide'
  | 'returnTokens'
  | 'reserve and cancel'
  | 'reconfigure';

serve(({ handle, call, hasRead, mayGoOn }: StalledJob): number => {
  const bucket = attach(handle);
  const { clock } = bucket;
  const read = clock.now.bind(clock);
  clock.now = () => {
    const nowUs = read();
    new Gate(hasRead).arrive();
    new Gate(mayGoOn).await(1);
    return nowUs;
  };
  switch (call) {
    case 'tryConsume':
      return bucket.tryConsume() ? 1 : 0;
    case 'consumeOrDrain':
      return bucket.consumeOrDrain(100);
    case 'decide':
      return bucket.decide().allowed ? 1 : 0;
    case 'returnTokens':
      bucket.returnTokens(0);
      return 0;
    case 'reserve and cancel':
      bucket.reserve()?.cancel();
      return 0;
    case 'reconfigure':
      bucket.reconfigure({ burst: bucket.burst });
      return 0;
  }
});
