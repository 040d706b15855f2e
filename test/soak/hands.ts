import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { HostJob, SoakJob, SoakReport } from './job.ts';

/** A running thread or process of a round, and its future report. */
export interface Hand {
  readonly report: Promise<SoakReport>;
  /** Ends it at any instant. Resolves when it has ended. */
  kill(): Promise<unknown>;
}

async function reportOf(hand: Worker | ChildProcess): Promise<SoakReport> {
  const [answer] = (await once(hand, 'message')) as [SoakReport];
  return answer;
}

/** Starts a thread; `hired` gets it before it is ready. */
export async function startThread(
  job: SoakJob,
  hired?: (worker: Worker, line: number) => void,
): Promise<Hand> {
  const worker = new Worker(new URL('soaker.js', import.meta.url));
  hired?.(worker, job.line);
  await once(worker, 'message');
  const exit = once(worker, 'exit');
  // An error in the thread fails its report, which the round awaits.
  exit.catch(() => undefined);
  const report = reportOf(worker).then(async (answer) => {
    await exit;
    return answer;
  });
  worker.postMessage(job);
  return { report, kill: () => worker.terminate() };
}

/** Starts a process; it fails the round if it ends before it is killed. */
export async function startProcess(job: HostJob): Promise<Hand> {
  const child = fork(new URL('host-soaker.js', import.meta.url), { execArgv: [] });
  await once(child, 'message');
  const exit = once(child, 'exit');
  const ended = exit.then(([code, signal]): never => {
    throw new Error(`a process of the soak ended with ${signal ?? code}`);
  });
  const report = Promise.race([reportOf(child), ended]);
  child.send(job);
  const kill = () => {
    child.kill('SIGKILL');
    return exit;
  };
  return { report, kill };
}
