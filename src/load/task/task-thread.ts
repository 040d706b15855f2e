import type { MessagePort } from 'node:worker_threads';
import { TokenBucket } from '../../limiters/token-bucket.ts';
import { Tally } from '../measure/tally.ts';
import type { TaskThreadData } from '../threads/messages.ts';
import { ThreadService } from '../threads/thread-service.ts';
import { onThreadEnd, openTask } from './task-module.ts';
import { TaskWork } from './task-work.ts';

/** Runs a thread that calls a task at a rate. */
export function runTaskThread(port: MessagePort, { task, counter, ...data }: TaskThreadData): void {
  const { timeoutMs } = data;
  let work: TaskWork | undefined;
  const service = new ThreadService(port, {
    data,
    open: async (hooks) => {
      await rehearseCalls();
      const { call, end } = await openTask(task, timeoutMs);
      work = new TaskWork({
        ...hooks,
        task: call,
        thread: task.thread,
        concurrency: task.concurrency,
        timeoutMs,
        nextSequence: () => Number(Atomics.add(counter, 0, 1n)),
        onClose: () => end.close(),
      });
      return work;
    },
  });
  const endWatch = onThreadEnd((failure) => {
    work?.abandon('thread ended', failure);
    service.abandon(failure);
  });
  void service.done.then(endWatch);
}

/** Enough to compile all code of a call. */
const CALLS = 3_000;
/** Calls started per turn of the event loop. */
const A_TURN = 100;

/**
 * Makes empty calls that count nowhere until our own code is compiled. Otherwise the task's first
 * calls would be late.
 */
async function rehearseCalls(): Promise<void> {
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
