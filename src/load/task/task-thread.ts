import type { MessagePort } from 'node:worker_threads';
import type { TaskThreadData } from '../messages.ts';
import { ThreadService } from '../thread-service.ts';
import { rehearseCalls } from './rehearse-calls.ts';
import { TaskEnd } from './task-end.ts';
import { importTask, setUpTask } from './task-module.ts';
import { TaskWork } from './task-work.ts';
import { onThreadEnd } from './thread-end.ts';

/** Runs a thread that calls a task. */
export function runTaskThread(port: MessagePort, { task, ...data }: TaskThreadData): void {
  const { url, data: own, thread, threads, concurrency, counter } = task;
  const { timeoutMs } = data;
  let work: TaskWork | undefined;
  const service = new ThreadService(port, {
    data,
    open: async (hooks) => {
      const module = await importTask(url);
      await rehearseCalls();
      const end = new TaskEnd(module, timeoutMs);
      await setUpTask(url, module, { thread, threads, data: own, signal: end.signal });
      work = new TaskWork({
        ...hooks,
        task: module.default,
        thread,
        concurrency,
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
