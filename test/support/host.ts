import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { HostRegion, type HostRegionOptions } from '../../src/host.ts';
import { compiled } from './crew.ts';

let files = 0;

/** The path of a file in memory that is removed with the test. */
export function hostPath(): string {
  const path = `/dev/shm/zerotime-test-${process.pid}-${files++}`;
  onTestFinished(() => rmSync(path, { force: true }));
  return path;
}

/** Opens a region that is closed and removed with the test. */
export function hostRegion(options: Partial<HostRegionOptions> = {}): HostRegion {
  const region = HostRegion.open({ path: hostPath(), ...options });
  onTestFinished(() => region.close());
  return region;
}

/** Starts processes that run a script of test/workers, and ends them with the test. */
export async function startProcesses(script: string, count: number): Promise<ChildProcess[]> {
  const processes = Array.from({ length: count }, () => fork(compiled(script), { execArgv: [] }));
  onTestFinished(() => {
    for (const child of processes) child.kill('SIGKILL');
  });
  await Promise.all(processes.map((child) => once(child, 'message')));
  return processes;
}

/** Sends a job, and resolves with the answer. */
export async function ask<Answer>(child: ChildProcess, job: object): Promise<Answer> {
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`the process ended with ${signal ?? code}`);
  });
  child.send(job);
  const [answer] = (await Promise.race([once(child, 'message'), ended])) as [Answer];
  ended.catch(() => undefined);
  return answer;
}
