import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FileLocks } from '../../src/host/file-locks.ts';
import { loadLibc } from '../../src/host/native.ts';
import { EXISTING, openFile } from '../../src/host/region-file.ts';
import { HostRegion } from '../../src/host.ts';
import { type LimiterHandle, Semaphore, TokenBucket } from '../../src/index.ts';
import {
  BUCKET,
  LINE_BYTES,
  NAME,
  PROCESS,
  PROCESS_BYTES,
  REGION,
} from '../../src/memory/layout.ts';
import { processOfMark } from '../../src/memory/thread.ts';
import { claimedAt } from '../support/cell.ts';
import { compiled } from '../support/crew.ts';
import {
  ask,
  closedRegion,
  hostPath,
  hostRegion,
  opened,
  ROOT,
  startProcess,
} from '../support/host.ts';
import { leaked, ownersOf } from '../support/leaks.ts';
import { part } from '../support/random.ts';
import { replaceExchanges } from '../support/replaced-exchanges.ts';
import { PATIENCE_MS, until } from '../support/settled.ts';
import type { ThreadJob } from '../workers/host-thread.ts';
import type { HostJob } from '../workers/host-user.ts';

const PERMITS = 3;

function semaphoreIn(region: HostRegion): Semaphore {
  return Semaphore.open(region, 'permits', { permits: PERMITS });
}

/** A process that holds permits of a region. */
async function holder(path: string, permits = PERMITS) {
  const child = await startProcess('host-user');
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

describe('the permits of a process that is killed come back', () => {
  test('to a thread that opened the region, and blocks from then on', async () => {
    const region = hostRegion();
    const semaphore = semaphoreIn(region);
    const child = await holder(region.path);
    child.kill('SIGKILL');
    // Nothing else recovers them: this thread never returns to its event loop meanwhile.
    expect(semaphore.acquireSync(1, { timeoutMs: 5000 })?.n).toBe(1);
  });

  // docs/host.md: "A new process with the same pid is therefore never mistaken"
  test('though another process has its pid by then', async () => {
    const region = hostRegion();
    const semaphore = semaphoreIn(region);
    const child = await holder(region.path);
    const entries = (region.i32[REGION.processes] ?? 0) >> 2;
    region.i32[region.i32.indexOf(child.pid ?? 0, entries)] = process.pid;
    child.kill('SIGKILL');
    await until(() => semaphore.available() === PERMITS);
  });

  test('to a thread that got a handle, while the one that opened the region blocks', async () => {
    const region = hostRegion();
    const semaphore = semaphoreIn(region);
    const child = await holder(region.path);
    const worker = await thread();
    const result = new Int32Array(new SharedArrayBuffer(4));
    worker.postMessage({ block: semaphore.handle, result });
    Atomics.wait(result, 0, 0, PATIENCE_MS);
    child.kill('SIGKILL');
    Atomics.wait(result, 0, 1, PATIENCE_MS);
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

test('a thread with trackUnmanagedFds: false that ends while it opens a region leaves nothing', () => {
  const path = closedRegion();
  const thread = `
    import threads, { parentPort } from 'node:worker_threads';
    import { syncBuiltinESMExports } from 'node:module';
    // Its keeper starts for ever.
    threads.Worker = class {
      constructor() {
        parentPort.postMessage('opening');
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      }
    };
    syncBuiltinESMExports();
    const { HostRegion } = await import('file://${ROOT}dist/src/host.js');
    HostRegion.open({ path: '${path}' });`;
  // In a process of its own: others of this one's threads open files, too.
  const program = `
    import { once } from 'node:events';
    import { readdirSync, readlinkSync } from 'node:fs';
    import { Worker } from 'node:worker_threads';
    const worker = new Worker(
      new URL('data:text/javascript,${encodeURIComponent(thread).replaceAll("'", '%27')}'),
      { trackUnmanagedFds: false },
    );
    await once(worker, 'message');
    await worker.terminate();
    const links = readdirSync('/proc/self/fd').map((descriptor) => {
      try {
        return readlinkSync('/proc/self/fd/' + descriptor);
      } catch {
        return 'that of the folder';
      }
    });
    console.log(links.filter((link) => link === '${path}').length);`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', program],
    { encoding: 'utf8' },
  );
  expect([stdout, stderr]).toEqual(['0\n', '']);
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

/** In full more than a limiter has records. */
const KILLS = part(9, 1);

test.each(['word', 'release'] as const)(
  'processes that are killed at the %s in reconfigure keep no configuration record for good',
  async (stall) => {
    const region = hostRegion();
    const bucket = TokenBucket.open(region, 'api', { rate: 1e-6, burst: 100 });
    const { offset } = bucket.handle;
    for (let i = 1; i <= KILLS; i++) {
      const child = await startProcess('host-user');
      // From the eighth on, once a second has passed without a change.
      await ask(child, { stall, path: region.path, burst: 100 + i });
      child.kill('SIGKILL');
      await until(() => region.processes().length === 1);
      expect(claimedAt(region.buffer, offset + BUCKET.claims)).not.toBe(0);
      // Before the exchange of the word the limit has not changed; after it, it has.
      expect(bucket.burst).toBe(stall === 'word' ? 100 : 100 + i);
    }
    bucket.reconfigure({ burst: 120 });
    expect(bucket.burst).toBe(120);
  },
);

const OUTSIDE = -64;

/** What a damaged region says of one limiter, by the way in which it was damaged. */
const DAMAGE = {
  'a name that stands for nothing': (region: HostRegion) => {
    const name = region.i32[REGION.names] ?? 0;
    region.i32[(name + NAME.cell) >> 2] = OUTSIDE;
  },
  'a limiter that makes no sense': (region: HostRegion, cell: number) => {
    region.f64.fill(Number.NaN, (cell + LINE_BYTES) >> 3, (cell + 2 * LINE_BYTES) >> 3);
  },
};

test.each(Object.entries(DAMAGE))('%s does not stop the recovery of others', async (_, damage) => {
  const region = hostRegion();
  const semaphore = semaphoreIn(region);
  const bucket = TokenBucket.open(region, 'api', { rate: 1, burst: 1 });
  const child = await holder(region.path);
  expect(semaphore.available()).toBe(0);
  damage(region, bucket.handle.offset);
  child.kill('SIGKILL');
  // An error of the timer that does so would end the process.
  await until(() => region.processes().length === 1);
  expect(semaphore.available()).toBe(PERMITS);
});

/** Whether any process has the lock of an entry. */
function isTaken(path: string, entry: number): boolean {
  const file = openFile(path, EXISTING);
  onTestFinished(() => file.close());
  return new FileLocks(loadLibc(), file).isTaken(entry);
}

test('an opening that fails, and a closing, leave no entry locked', () => {
  const region = hostRegion();
  const { path, i32 } = region;
  expect(isTaken(path, 1)).toBe(true);
  i32[REGION.names] = OUTSIDE;
  const damaged = expect.objectContaining({ code: 'ERR_REGION_DAMAGED' });
  expect(() => region.close()).toThrow(damaged);
  expect(isTaken(path, 1)).toBe(false);
  // Of a process that has ended, whose names cannot be read.
  const entry = (i32[REGION.processes] ?? 0) + PROCESS_BYTES;
  i32[(entry + PROCESS.pid) >> 2] = 12_345;
  expect(() => HostRegion.open({ path })).toThrow(damaged);
  expect(isTaken(path, 1)).toBe(false);
  i32[REGION.names] = 0;
  const again = HostRegion.open({ path });
  onTestFinished(() => again.close());
  expect(again.processes()).toHaveLength(1);
});
