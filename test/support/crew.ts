import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';
import type { JOBS as CLOCKED } from '../workers/clocked.ts';
import type { JOBS as DAMAGE } from '../workers/damage.ts';
import type { JOBS as TAKERS } from '../workers/takers.ts';
import { Gate } from './gate.ts';
import type { Answer, Member } from './serve.ts';

/** The scripts that have several jobs. */
interface Scripts {
  readonly clocked: typeof CLOCKED;
  readonly damage: typeof DAMAGE;
  readonly takers: typeof TAKERS;
}

type JobOf<Work> = Work extends (job: infer Job, ...rest: never[]) => unknown ? Job : never;
type ResultOf<Work> = Work extends (...args: never[]) => infer Result ? Awaited<Result> : never;

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

  /** Starts threads that do one of a script's jobs, and ends them with the test. */
  static of<Script extends keyof Scripts, Name extends keyof Scripts[Script] & string>(
    script: Script,
    name: Name,
    size: number,
  ): Promise<Crew<JobOf<Scripts[Script][Name]>, ResultOf<Scripts[Script][Name]>>> {
    return Crew.start(script, size, name);
  }

  /** Starts the threads of a script with a single job. */
  static async start<Job, Result>(
    script: string,
    size: number,
    name?: string,
  ): Promise<Crew<Job, Result>> {
    const { buffer: gate } = new Gate();
    const workers = Array.from({ length: size }, (_, me) => {
      const workerData: Member = { me, size, gate, ...(name !== undefined && { name }) };
      return new Worker(compiled(script), { workerData });
    });
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
