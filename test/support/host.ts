import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readlinkSync, rmSync, writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, vi } from 'vitest';
import type { Libc } from '../../src/host/libc.ts';
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

/** The file of a region that was complete, and is closed. */
export function closedRegion(): string {
  const region = hostRegion();
  region.close();
  return region.path;
}

/** Writes bytes into a region's file. */
export function overwrite(path: string, at: number, bytes: Uint8Array): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
}

/** Matches the error with which a region's file cannot be opened. */
export function hostError(code: string, message: string) {
  return expect.objectContaining({ name: 'HandleError', code, message });
}

/** Opens a region with a module that may be changed, which must fail. */
export function expectRefused(
  host: { readonly HostRegion: typeof HostRegion },
  path: string,
  code: string,
  message: string,
): void {
  expect(() => host.HostRegion.open({ path })).toThrow(hostError(code, message));
}

/** The descriptors that this process has open of a file. */
export function opened(path: string): number {
  const links = readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      return []; // that of the folder
    }
  });
  return links.filter((link) => link.startsWith(path)).length;
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

/** Starts a process that runs a script of test/workers, and ends it with the test. */
export async function startProcess(script: string): Promise<ChildProcess> {
  const [child] = (await startProcesses(script, 1)) as [ChildProcess];
  return child;
}

/** The root of the repository, as a path. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** How a process opens a region. */
interface Opening {
  /** Flags of Node.js. */
  readonly flags?: readonly string[];
  /** Commands of the shell before it starts. */
  readonly setUp?: string;
  /** Code before the region is opened. */
  readonly before?: string;
}

/** What a process says that opens a region: the number of processes that have it open, or the error. */
export function saidByOpener(
  options: HostRegionOptions,
  { flags = [], setUp = 'true', before = '' }: Opening = {},
): string {
  const module = `${before}
    const { HostRegion } = await import('${ROOT}dist/src/host.js');
    try {
      console.log(HostRegion.open(${JSON.stringify(options)}).processes().length);
    } catch ({ code, message }) {
      console.log(code, message);
    }`;
  const node = [process.execPath, '--no-warnings', ...flags, '--input-type=module', '-e', module];
  const shell = ['-c', `${setUp}; exec "$0" "$@"`, ...node];
  const { stdout, stderr } = spawnSync('sh', shell, { cwd: ROOT, encoding: 'utf8' });
  return `${stderr}${stdout}`.trim();
}

/** Sends a job, and resolves with the answer. */
export async function ask<Answer>(child: ChildProcess, job: object): Promise<Answer> {
  // Takes the listeners of both off again.
  const over = new AbortController();
  const { signal } = over;
  const ended = once(child, 'exit', { signal }).then(([code, by]) => {
    throw new Error(`the process ended with ${by ?? code}`);
  });
  ended.catch(() => undefined);
  child.send(job);
  try {
    const [answer] = (await Promise.race([once(child, 'message', { signal }), ended])) as [Answer];
    return answer;
  } finally {
    over.abort();
  }
}

export type Fs = typeof import('node:fs');

/** Opens regions with other functions of `node:fs`. */
export async function withFs(change: (real: Fs) => Partial<Fs>) {
  replacing('node:fs');
  vi.doMock('node:fs', async (load) => {
    const real = await load<Fs>();
    return { ...real, ...change(real) };
  });
  return import('../../src/host.ts');
}

/** Opens regions with other functions of the system. */
export async function withLibc(change: (real: Libc) => Partial<Libc>) {
  replacing('../../src/host/native.ts');
  vi.doMock('../../src/host/native.ts', async (load) => {
    const real = await load<typeof import('../../src/host/native.ts')>();
    const libc = real.loadLibc();
    return { ...real, loadLibc: () => ({ ...libc, ...change(libc) }) };
  });
  return import('../../src/host.ts');
}

/** The next file may run in the same process, and must not get these imports. */
function replacing(module: string): void {
  vi.resetModules();
  onTestFinished(() => {
    vi.doUnmock(module);
    vi.resetModules();
  });
}
