import type { LoadOptions } from '../../src/load/plan/options.ts';
import type { DriveResult } from '../../src/load.ts';
import { codeUrl } from './code-url.ts';

/** The options of a load that an embedded server answers, with those in `change` replaced. */
export function loadOptions(change: Partial<LoadOptions>): LoadOptions {
  return {
    url: undefined,
    rate: 100,
    ramp: undefined,
    burst: 1,
    threads: 2,
    connections: 2,
    durationMs: 1_000,
    timeoutMs: 1_000,
    warmupMs: 0,
    method: 'GET',
    headers: [],
    body: undefined,
    gates: [],
    ...change,
  };
}

/** Gates that any run passes: a busy machine may miss the rate. */
export const NO_GATES: LoadOptions['gates'] = [
  { kind: 'errors', maxShare: 1 },
  { kind: 'rate', minShare: 0 },
];

/** Repeats a run until it shows enough: a busy machine may hold up a thread for all of it. */
export async function runUntil<Result>(
  isEnough: (result: Result) => boolean,
  run: () => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    const result = await run();
    if (isEnough(result) || tries > 50) return result;
  }
}

/** A replacement for the worker of the load threads: a script that runs this code. */
export function replacedWorker(code: string): URL {
  const source = `
    import { parentPort, threadId, workerData } from 'node:worker_threads';
    const REPORT = { type: 'report', throughUs: 0, waiting: 0, latencies: new Map() };
    ${code}`;
  return new URL(codeUrl(source));
}

/** How many errors of each kind there were. */
export function kinds({ errors }: DriveResult): Record<string, number> {
  return Object.fromEntries(errors.map(({ kind, count }) => [kind, count]));
}
