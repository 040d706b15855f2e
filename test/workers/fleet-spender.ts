import { setImmediate } from 'node:timers/promises';
import { type FleetHandle, FleetSpender } from '../../src/integrations/redis.ts';
import { Gate } from '../support/gate.ts';
import { serve } from '../support/serve.ts';

/** Spends the stock of its process until stopped. */
export interface FleetSpendJob {
  readonly handle: FleetHandle;
  readonly call: 'tryConsume' | 'consumeOrDrain' | 'take and return' | 'wait';
  readonly n: number;
  /** Set to non-zero to stop the threads. */
  readonly stop: SharedArrayBuffer;
  /** Each thread arrives at this gate when it first gets a token. */
  readonly served: SharedArrayBuffer;
}

/** Tokens that a thread took and kept. */
export type FleetSpent = number;

/** Every fifth wait is aborted at once, so that its tokens go to others. */
const GIVEN_UP = 5;

serve(async ({ handle, call, n, stop, served }: FleetSpendJob): Promise<FleetSpent> => {
  const spender = FleetSpender.attach(handle);
  const stopped = new Int32Array(stop);
  const gate = new Gate(served);
  let calls = 0;
  let spent = 0;
  const attempt = async (): Promise<number> => {
    calls++;
    if (call === 'consumeOrDrain') return spender.consumeOrDrain(n);
    if (call === 'wait') return (await waited(spender, n, calls % GIVEN_UP === 0)) ? n : 0;
    const got = spender.tryConsume(n) ? n : 0;
    if (call === 'tryConsume' || got === 0) return got;
    spender.returnTokens(n);
    return 0;
  };
  while (Atomics.load(stopped, 0) === 0) {
    const got = await attempt();
    if (got > 0 && spent === 0) gate.arrive();
    spent += got;
    if (calls % 256 === 0) await setImmediate();
  }
  return spent;
});

async function waited(spender: FleetSpender, n: number, isGivenUp: boolean): Promise<boolean> {
  const abort = new AbortController();
  const wait = spender.wait(n, { signal: abort.signal });
  if (isGivenUp) abort.abort('enough');
  try {
    await wait;
    return true;
  } catch {
    return false;
  }
}
