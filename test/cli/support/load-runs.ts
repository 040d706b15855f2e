import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import type { DriveResult, Guarantee } from '../../../src/load.ts';
import { folderOfFile } from '../../support/folders.ts';
import { kinds } from '../../support/load-options.ts';
import { type CliRun, runCli } from './run-cli.ts';
import type { TestServer } from './servers.ts';

/** Where one thread shows as much as several: starting each takes longer than the load does. */
export const ALONE = ['--threads', '1'];

/** Gates have their own tests; here a busy machine may miss the rate. */
export const NO_GATES = ['--min-rate', '0%', '--max-errors', '100%'];

/** Runs `zerotime load` for the tests of a file, with servers and files that end with them. */
export class LoadRuns {
  readonly #folder = folderOfFile();
  readonly #servers: TestServer[] = [];
  #paths = 0;

  constructor() {
    afterAll(async () => {
      await Promise.all(this.#servers.map((server) => server.kill()));
    });
  }

  /** Ends the server after the tests of the file. */
  async kept(starting: Promise<TestServer>): Promise<TestServer> {
    const server = await starting;
    this.#servers.push(server);
    return server;
  }

  /** The path of a file that does not exist yet. */
  newPath(extension = '.json'): string {
    this.#paths += 1;
    return join(this.#folder, `${this.#paths}${extension}`);
  }

  /** Runs `zerotime load` with these arguments until it exits. */
  async load(...args: string[]): Promise<CliRun & { result: JsonResult }> {
    const path = this.newPath();
    const run = await runCli(['load', ...NO_GATES, ...args, '--json', path]);
    return { ...run, result: readJsonResult(path) };
  }
}

/** Checks that hold for every run, whatever happened to its requests. */
export function expectConsistent(result: JsonResult): void {
  const { admitted, calls, statusCodes, errors, threads } = result;
  const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0);
  expect(result.guarantee.held).toBe(true);
  expect(sum(threads.map((thread) => thread.admitted))).toBe(admitted);
  expect(sum([...result.admittedPer100Ms])).toBe(admitted);
  expect(calls.succeeded + calls.failed).toBe(admitted);
  expect(sum(Object.values(statusCodes)) + sum(errors.map(({ count }) => count))).toBe(admitted);
  expect(calls.sent).toBe(admitted - errorCount(result, 'unsent'));
  expect(result.times.clientLag.count).toBe(admitted);
  expect(result.times.queued.count).toBe(admitted);
}

/** The `--json` file of a run at a rate. */
export type JsonResult = DriveResult & {
  readonly exitCode: number;
  readonly commandLine: string;
  readonly guarantee: Guarantee;
};

export function readJsonResult(path: string): JsonResult {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** The number of errors of this kind. */
export function errorCount(result: DriveResult, kind: string): number {
  return kinds(result)[kind] ?? 0;
}
