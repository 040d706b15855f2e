import { TokenBucket } from '../../limiters/token-bucket.ts';
import { Tally } from '../tally.ts';
import { TaskWork } from './task-work.ts';

/** Enough to compile all code of a call. */
const CALLS = 3_000;
/** Calls started per turn of the event loop. */
const A_TURN = 100;

/**
 * Makes empty calls that count nowhere until our own code is compiled. Otherwise the task's first
 * calls would be late.
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
