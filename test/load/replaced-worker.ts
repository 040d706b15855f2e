import { codeUrl } from '../support/code-url.ts';

/** A replacement for the worker of the load threads: a script that runs this code. */
export function replacedWorker(code: string): URL {
  const source = `
    import { parentPort, threadId, workerData } from 'node:worker_threads';
    const REPORT = { type: 'report', throughUs: 0, waiting: 0, latencies: [[], []] };
    ${code}`;
  return new URL(codeUrl(source));
}
