import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';
import type { JOBS as CLOCKED } from '../workers/clocked.ts';
import type { JOBS as DAMAGE } from '../workers/damage.ts';
import type { JOBS as TAKERS } from '../workers/takers.ts';
import { Gate } from './gate.ts';
import type { Answer, Member, Order } from './serve.ts';

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

/** Threads of scripts with several jobs, which the next test of the file takes over. */
const resting = new Map<string, readonly Worker[]>();

async function start(script: string, size: number): Promise<Worker[]> {
  const { buffer: gate } = new Gate();
  const workers = Array.from({ length: size }, (_, me) => {
    const workerData: Member = { me, size, gate };
    return new Worker(compiled(script), { workerData });
  });
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  return workers;
}

async function end(workers: readonly Worker[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker.terminate()));
}

/** Ends the threads that the tests of a file have left. */
export async function endResting(): Promise<void> {
  await Promise.all([...resting.values()].map(end));
  resting.clear();
}

/** The worker threads of one test: each runs the same script and gets the same jobs. */
export class Crew<Job, Result> {
  readonly workers: readonly Worker[];
  readonly #name: string;
  #running = 0;

  private constructor(workers: readonly Worker[], name = '') {
    this.workers = workers;
    this.#name = name;
  }

  /** Threads that do one of a script's jobs: new ones, or those of a test of the file that is over. */
  static async of<Script extends keyof Scripts, Name extends keyof Scripts[Script] & string>(
    script: Script,
    name: Name,
    size: number,
  ): Promise<Crew<JobOf<Scripts[Script][Name]>, ResultOf<Scripts[Script][Name]>>> {
    const key = `${size} ${script}`;
    const workers = resting.get(key) ?? (await start(script, size));
    resting.delete(key);
    const crew = new Crew<JobOf<Scripts[Script][Name]>, ResultOf<Scripts[Script][Name]>>(
      workers,
      name,
    );
    onTestFinished(async () => {
      if (crew.#mayRest && !resting.has(key)) resting.set(key, workers);
      else await end(workers);
    });
    return crew;
  }

  /** Starts the threads of a script with a single job, and ends them with the test. */
  static async start<Job, Result>(script: string, size: number): Promise<Crew<Job, Result>> {
    const workers = await start(script, size);
    onTestFinished(() => end(workers));
    return new Crew(workers);
  }

  /** Whether each thread has done its jobs: a failed one may go on, or leave things changed. */
  get #mayRest(): boolean {
    return this.#running === 0 && this.workers.every(({ threadId }) => threadId > 0);
  }

  /** Gives every thread the job; resolves with their answers in the order of the threads. */
  run(job: Job): Promise<Result[]> {
    const answers = this.workers.map(async (worker) => {
      this.#running++;
      worker.postMessage({ name: this.#name, job } satisfies Order);
      const [answer] = (await once(worker, 'message')) as [Answer<Result>];
      if ('failed' in answer) throw new Error(`in a thread: ${answer.failed}`);
      this.#running--;
      return answer.done;
    });
    return Promise.all(answers);
  }
}
