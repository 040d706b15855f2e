import { inspect } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';
import { Gate } from './gate.ts';

/** A thread's answer to a job. */
export type Answer<Result> = { readonly done: Result } | { readonly failed: string };

/** What a crew tells each of its threads when it starts. */
export interface Member {
  readonly me: number;
  readonly size: number;
  /** The gate at which the threads meet. */
  readonly gate: SharedArrayBuffer;
  /** Which of the script's jobs the thread does. */
  readonly name?: string;
}

/** Resolves a job. `meet` blocks until all threads of the crew are there; each calls it as often. */
export type Work<Job = never, Result = unknown> = (
  job: Job,
  me: number,
  meet: () => void,
) => Result | Promise<Result>;

/** A crew thread's loop: runs each job it receives and answers with the result. */
export function serve<Job, Result>(work: Work<Job, Result>): void {
  const { me, size, gate } = workerData as Member;
  const start = new Gate(gate);
  let meetings = 0;
  const meet = () => {
    start.arrive();
    start.await(++meetings * size);
  };
  parentPort?.on('message', async (job: Job) => {
    let answer: Answer<Result>;
    try {
      answer = { done: await work(job, me, meet) };
    } catch (error) {
      answer = { failed: inspect(error) };
    }
    parentPort?.postMessage(answer);
  });
  parentPort?.postMessage('ready');
}

/** The same, of the one of these jobs that the crew was started for. */
export function serveOneOf(jobs: Readonly<Record<string, Work>>): void {
  const { name = '' } = workerData as Member;
  const work = jobs[name];
  if (work === undefined) throw new Error(`no thread does ${name}`);
  serve(work);
}
