import { once } from 'node:events';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HostRegion } from '../../src/host.ts';
import { type LimiterHandle, Semaphore } from '../../src/index.ts';
import { processOfMark } from '../../src/memory/thread.ts';
import { compiled } from '../support/crew.ts';
import { ask, hostPath, hostRegion, opened, startProcesses } from '../support/host.ts';
import { leaked, ownersOf } from '../support/leaks.ts';
import { replaceExchanges } from '../support/replaced-exchanges.ts';
import type { ThreadJob } from '../workers/host-thread.ts';
import type { HostJob } from '../workers/host-user.ts';

const PERMITS = 3;

function semaphoreIn(region: HostRegion): Semaphore {
  return Semaphore.open(region, 'permits', { permits: PERMITS });
}

/** A process that holds permits of a region. */
async function holder(path: string, permits = PERMITS) {
  const [child] = await startProcesses('host-user', 1);
  if (child === undefined) throw new Error('no process');
  const job: HostJob = { hold: path, permits };
  await ask(child, job);
  return child;
}

async function thread(options: WorkerOptions = {}): Promise<Worker> {
  const worker = new Worker(compiled('host-thread'), options);
  onTestFinished(async () => void (await worker.terminate()));
  await once(worker, 'message');
  return worker;
}

async function handleFrom(worker: Worker, job: ThreadJob): Promise<LimiterHandle<'semaphore'>> {
  worker.postMessage(job);
  const [handle] = (await once(worker, 'message')) as [LimiterHandle<'semaphore'>];
  return handle;
}

/** The entries of a semaphore that have not been freed. */
function entriesOf(semaphore: Semaphore): number {
  return ownersOf(semaphore).filter((mark) => mark !== 0).length;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

describe('the permits of a process that is killed come back', () => {
  test('to a thread that opened the region, and blocks from then on', async () => {
    const region = hostRegion();
    const semaphore = semaphoreIn(region);
    const child = await holder(region.path);
    child.kill('SIGKILL');
    // Nothing else recovers them: this thread never returns to its event loop meanwhile.
    expect(semaphore.acquireSync(1, { timeoutMs: 5000 })?.n).toBe(1);
  });

  test('to a thread that got a handle, while the one that opened the region blocks', async () => {
    const region = hostRegion();
    const semaphore = semaphoreIn(region);
    const child = await holder(region.path);
    const worker = await thread();
    const result = new Int32Array(new SharedArrayBuffer(4));
    worker.postMessage({ block: semaphore.handle, result });
    Atomics.wait(result, 0, 0);
    child.kill('SIGKILL');
    Atomics.wait(result, 0, 1);
    expect(result[0]).toBe(3);
  });

  test('if another one is killed while it recovers them', async () => {
    const path = hostPath();
    const child = await holder(path);
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
    const marks: number[] = [];
    const spy = replaceExchanges<number>((exchange, { next }) => {
      if (next < 0) marks.push(-next);
      return exchange();
    });
    const region = HostRegion.open({ path });
    spy.mockRestore();
    onTestFinished(() => region.close());
    expect(semaphoreIn(region).available()).toBe(PERMITS);
    // The next one to open the region, or to look for ended ones, takes over what a dead process was recovering.
    expect(marks.map(processOfMark)).toEqual([region.handle.process]);
  });
});

describe.each([
  ['a thread that ends', {}],
  ['a thread with trackUnmanagedFds: false that ends', { trackUnmanagedFds: false }],
])('%s', (_, options) => {
  test('returns its permits, though its memory is still referenced', async () => {
    const region = hostRegion();
    const semaphore = semaphoreIn(region);
    const before = opened(region.path);
    const worker = await thread(options);
    const kept = await handleFrom(worker, { hold: region.path, permits: 2 });
    expect([semaphore.inUse(), region.processes().length]).toEqual([2, 2]);
    await worker.terminate();
    await until(() => region.processes().length === 1);
    expect(semaphore.inUse()).toBe(0);
    expect(kept.path).toBe(region.path);
    expect(opened(region.path)).toBe(before);
  });

  test('gives back what it closes at once', async () => {
    const region = hostRegion();
    const before = opened(region.path);
    const worker = await thread(options);
    worker.postMessage({ close: region.path } satisfies ThreadJob);
    await once(worker, 'message');
    expect([region.processes().length, opened(region.path)]).toEqual([1, before]);
  });

  test('returns its permits and its place if it got a handle', async () => {
    const region = hostRegion();
    const semaphore = semaphoreIn(region);
    for (let i = 0; i < 2; i++) {
      const worker = await thread(options);
      const job = { attach: semaphore.handle, permits: 1 };
      await handleFrom(worker, job);
      // The same thread gets the handle as new memory each time, and keeps its entry.
      const { process } = await handleFrom(worker, job);
      expect(process).toBe(region.handle.process);
      expect([semaphore.inUse(), region.processes().length]).toEqual([2, 2]);
      expect(entriesOf(semaphore)).toBe(2);
      await worker.terminate();
      await until(() => region.processes().length === 1);
      expect(leaked(semaphore)).toBe('');
    }
  });
});
