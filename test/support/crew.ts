import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';

/** What a thread of a crew answers to a job. */
export type Answer<Result> = { readonly done: Result } | { readonly failed: string };

/** A script of test/workers, as `npm run build` compiled it: threads and processes can't run TypeScript. */
export function compiled(script: string): URL {
  return new URL(`../../dist/test/workers/${script}.js`, import.meta.url);
}

/** Worker threads of one test: each runs the same script of test/workers and is given the same jobs. */
export class Crew<Job, Result> {
  readonly workers: readonly Worker[];

  private constructor(workers: readonly Worker[]) {
    this.workers = workers;
  }

  /** Starts the threads, and ends them with the test. */
  static async start<Job, Result>(script: string, size: number): Promise<Crew<Job, Result>> {
    const crew = Crew.launch<Job, Result>(script, size);
    onTestFinished(() => crew.end());
    await crew.ready();
    return crew;
  }

  /** For several tests: ends with {@link end}. */
  static launch<Job, Result>(script: string, size: number): Crew<Job, Result> {
    const start = (me: number) => new Worker(compiled(script), { workerData: { me } });
    return new Crew(Array.from({ length: size }, (_, me) => start(me)));
  }

  async ready(): Promise<void> {
    await Promise.all(this.workers.map((worker) => once(worker, 'message')));
  }

  async end(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }

  /** Gives every thread the job; resolves with what they answer, in their order. */
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
