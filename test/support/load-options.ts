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
