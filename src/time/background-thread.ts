import type { Worker, WorkerOptions } from 'node:worker_threads';
import { lowerTimerSlack } from './precise.ts';

/** The part of `node:worker_threads` that starts a thread. */
export interface Threads {
  readonly Worker: new (program: string, options: WorkerOptions) => Worker;
}

/** What a thread's function can load. In a browser, only its port. */
export type Load = (module: string) => unknown;

/**
 * The program of a thread: a function's source text, because bundlers would not include a separate
 * file. Invariant of all such functions: they use only their arguments and globals, and contain no
 * function, because bundlers that keep names would wrap that in a call to a helper.
 */
export function programOf<Data, Layout>(
  run: (data: Data, layout: Layout, load: Load) => void,
  data: string,
  layout: Layout,
  load: string,
): string {
  return `(${run})(${data}, ${JSON.stringify(layout)}, ${load})`;
}

/**
 * Starts a thread of Node.js that runs such a function, with low timer slack if `isPrecise`. It does
 * not keep the process alive, and an error in it ends only the thread.
 *
 * @throws the error of `new Worker`, for example if the permission model forbids threads.
 */
export function startThread<Data, Layout>(
  { Worker }: Threads,
  name: string,
  run: (data: Data, layout: Layout, load: Load) => void,
  data: Data,
  layout: Layout,
  isPrecise = false,
): Worker {
  const slack = isPrecise ? `(${lowerTimerSlack})(require('node:fs'));` : '';
  const program = programOf(run, "require('node:worker_threads').workerData", layout, 'require');
  // Ignore the process's options, including NODE_OPTIONS: it needs no loader or debugger.
  const options = { eval: true, workerData: data, execArgv: [], env: {}, name };
  const worker = new Worker(slack + program, options);
  worker.unref();
  worker.on('error', () => undefined);
  return worker;
}
