import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';

/** A thread's answer to a job. */
export type Answer<Result> = { readonly done: Result } | { readonly failed: string };

/**
 * A script of test/workers as compiled by `npm run build`: threads and processes can't run
 * TypeScript.
 */
export function compiled(script: string): URL {
  return new URL(`../../dist/test/workers/${script}.js`, import.meta.url);
}

/** The worker threads of one test: each runs the same script and gets the same jobs. */
export class Crew<Job, Result> {
  readonly workers: readonly Worker[];

  private constructor(workers: readonly Worker[]) {
    this.workers = workers;
  }

  /** Starts the threads, and ends them with the test. */
  static async start<Job, Result>(script: string, size: number): Promise<Crew<Job, Result>> {
    const workers = Array.from(
      { length: size },
      (_, me) => new Worker(compiled(script), { workerData: { me } }),
    );
    onTestFinished(async () => {
      await Promise.all(workers.map((worker) => worker.terminate()));
    });
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    return new Crew(workers);
  }

  /** Gives every thread the job; resolves with their answers in the order of the threads. */
  run(job: Job): Promise<Result[]> {
    const answers = this.workers.map(async (worker) => {
      worker.postMessage(job);
      const [answer] = (await once(worker, 'message')) as [Answer<Result>];
      if ('failed' in answer) throw new Error(`in a thread: ${answer.failed}`);
      return answer.done;
    });
    return Promise.all(answers);
  }
}
