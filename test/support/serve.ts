import { inspect } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';
import type { Answer } from './crew.ts';

/** A crew thread's loop: runs each job it receives and answers with the result. */
export function serve<Job, Result>(work: (job: Job, me: number) => Result | Promise<Result>): void {
  const { me } = workerData as { readonly me: number };
  parentPort?.on('message', async (job: Job) => {
    let answer: Answer<Result>;
    try {
      answer = { done: await work(job, me) };
    } catch (error) {
      answer = { failed: inspect(error) };
    }
    parentPort?.postMessage(answer);
  });
  parentPort?.postMessage('ready');
}
