import { inspect } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';
import { Gate } from './gate.ts';
import { changedSince, sharedState } from './shared-state.ts';

/** A thread's answer to a job. */
export type Answer<Result> = { readonly done: Result } | { readonly failed: string };

/** What a crew tells each of its threads when it starts. */
export interface Member {
  readonly me: number;
  readonly size: number;
  /** The gate at which the threads meet. */
  readonly gate: SharedArrayBuffer;
}

/** What a crew asks of each thread. */
export interface Order<Job = unknown> {
  /** Which of the script's jobs it is, if there are several. */
  readonly name: string;
  readonly job: Job;
}

/** Resolves a job. `meet` blocks until all threads of the crew are there; each calls it as often. */
export type Work<Job = never, Result = unknown> = (
  job: Job,
  me: number,
  meet: () => void,
) => Result | Promise<Result>;

/** A crew thread's loop: runs each job it receives and answers with the result. */
export function serve<Job, Result>(work: Work<Job, Result>): void {
  serveBy(() => work as Work<never, Result>);
}

/** What the jobs of a thread share. */
function threadState(): ReadonlyMap<string, unknown> {
  const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout');
  return new Map([...sharedState(), ['timers', timers.length]]);
}

/**
 * The same, of whichever of these jobs the crew is for. Another crew takes the thread over, so a job
 * must leave it as it was when it began.
 */
export function serveOneOf(jobs: Readonly<Record<string, Work>>): void {
  const before = threadState();
  serveBy((name) => {
    const work = jobs[name];
    if (work === undefined) throw new Error(`no thread does ${name}`);
    return async (...args) => {
      const result = await work(...args);
      const changed = changedSince(before, threadState());
      if (changed.length > 0) throw new Error(`${name} left changed: ${changed}`);
      return result;
    };
  });
}

function serveBy<Result>(workOf: (name: string) => Work<never, Result>): void {
  const { me, size, gate } = workerData as Member;
  const start = new Gate(gate);
  let meetings = 0;
  const meet = () => {
    start.arrive();
    start.await(++meetings * size);
  };
  parentPort?.on('message', async ({ name, job }: Order<never>) => {
    let answer: Answer<Result>;
    try {
      answer = { done: await workOf(name)(job, me, meet) };
    } catch (error) {
      answer = { failed: inspect(error) };
    }
    parentPort?.postMessage(answer);
  });
  parentPort?.postMessage('ready');
}
