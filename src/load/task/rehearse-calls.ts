import { TokenBucket } from '../../limiters/token-bucket.ts';
import { Tally } from '../tally.ts';
import { TaskWork } from './task-work.ts';

/** Enough for all code of a call to be compiled. */
const CALLS = 3_000;
/** Of these the event loop serves the async ones together. */
const A_TURN = 100;

/**
 * Makes calls that do nothing and count nowhere, until our own code is compiled. Otherwise the first
 * calls of the task would be late.
 */
export async function rehearseCalls(): Promise<void> {
  const bucket = TokenBucket.create({ rate: 1e6, burst: 1 });
  const tally = new Tally();
  let made = 0;
  const work = new TaskWork({
    task: ({ sequence }) => (sequence % 2 === 0 ? undefined : Promise.resolve()),
    thread: 0,
    concurrency: A_TURN,
    timeoutMs: 1_000,
    nextSequence: () => made++,
    tallyOf: () => tally,
    now: () => bucket.clock.now(),
    onIdle: () => undefined,
    isOver: () => false,
    onClose: () => Promise.resolve(),
  });
  while (made < CALLS) {
    for (let i = 0; i < A_TURN; i++) {
      bucket.reserve();
      work.send(bucket.clock.now(), bucket.clock.now());
    }
    await new Promise(setImmediate);
  }
  await work.close();
}
