import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { FileLocks } from '../../src/host/file-locks.ts';
import { join } from '../../src/host/host-region.ts';
import { loadLibc } from '../../src/host/native.ts';
import { EXISTING, openFile } from '../../src/host/region-file.ts';
import { HostRegion } from '../../src/host.ts';
import { ManualClock, Region, Semaphore, systemClock, TokenBucket } from '../../src/index.ts';
import { PROCESS_BYTES, REGION } from '../../src/memory/layout.ts';
import { sharingOf } from '../../src/memory/sharing.ts';
import {
  ask,
  hostPath,
  hostRegion,
  opened,
  startProcess,
  startProcesses,
} from '../support/host.ts';
import { IN_FULL, part, SHARE } from '../support/random.ts';
import { PATIENCE_MS, until } from '../support/settled.ts';
import type { Hammered, HammerStep } from '../workers/host-process.ts';
import type { HostJob } from '../workers/host-user.ts';

/** One after another; in full, more than a region has stripes of counters. */
const USERS = SHARE < 1 ? 4 : 70;

interface Answer {
  readonly result?: unknown;
  readonly error?: string;
}

async function result(child: Parameters<typeof ask>[0], job: HostJob): Promise<unknown> {
  const { result: found, error } = await ask<Answer>(child, job);
  if (error !== undefined) throw new Error(`in a process: ${error}`);
  return found;
}

test('eight processes that open and create at once make one region and one limiter', async () => {
  const rounds = part(500, 20);
  const open = hostPath();
  onTestFinished(() => {
    for (let round = 0; round < rounds; round++) rmSync(`${open}-${round}`, { force: true });
  });
  const children = await startProcesses('host-user', 8);
  const startUs = systemClock.now() + 100_000;
  const job = { open, rounds, startUs, everyUs: 10_000 };
  const found = await Promise.all(children.map((child) => result(child, job)));
  for (const each of found) expect(each).toEqual(found[0]);
  for (let round = 0; round < rounds; round++) {
    const region = HostRegion.find(`${open}-${round}`);
    const bucket = TokenBucket.open(region, 'api', { rate: 1e-6, burst: 100 });
    expect(Math.round(bucket.available())).toBe(100 - children.length);
    expect(region.processes()).toHaveLength(1);
    region.close();
  }
});

test('a handle goes through process.send', async () => {
  const region = hostRegion();
  const bucket = TokenBucket.open(region, 'api', { rate: 1e-6, burst: 5 });
  const unnamed = TokenBucket.create({ rate: 1e-6, burst: 7, region });
  const child = await startProcess('host-user');
  expect(await result(child, { take: bucket.handle })).toBe(3);
  expect(await result(child, { take: unnamed.handle })).toBe(3);
  expect([bucket.available(), unnamed.available()].map(Math.round)).toEqual([2, 4]);
});

describe('a process that is killed', () => {
  test('returns its permits to callers in other processes', async () => {
    const region = hostRegion();
    const semaphore = Semaphore.open(region, 'permits', { permits: 3 });
    const [holder, waiter, blocked] = await startProcesses('host-user', 3);
    if (holder === undefined || waiter === undefined || blocked === undefined) return;
    expect(await result(holder, { hold: region.path, permits: 3 })).toBe(true);
    const waiting = result(waiter, { acquire: region.path });
    const blocking = result(blocked, { acquireSync: region.path });
    const own = semaphore.acquire();
    holder.kill('SIGKILL');
    expect(await Promise.all([waiting, blocking])).toEqual([1, 1]);
    expect((await own).n).toBe(1);
    expect(semaphore.inUse()).toBe(3);
  });

  test('returns its permits to one that opens the region next, whose place is another', async () => {
    const path = hostPath();
    const [first, second, third] = await startProcesses('host-user', 3);
    if (first === undefined || second === undefined || third === undefined) return;
    expect(await result(first, { hold: path, permits: 1 })).toBe(true);
    expect(await result(second, { hold: path, permits: 2 })).toBe(true);
    for (const killed of [first, second]) {
      killed.kill('SIGKILL');
      await once(killed, 'exit');
    }
    expect(await result(third, { hold: path, permits: 3 })).toBe(true);
  });

  test('is out of the list a moment later, and leaves the queue', async () => {
    const region = hostRegion();
    const semaphore = Semaphore.open(region, 'permits', { permits: 3 });
    const all = semaphore.tryAcquire(3);
    const waiter = await startProcess('host-user');
    result(waiter, { acquire: region.path }).catch(() => undefined);
    await until(() => semaphore.waiting > 0);
    waiter.kill('SIGKILL');
    // Nobody recovers anything while this thread does not return to its event loop.
    const isAlive = () => region.processes().at(-1)?.isAlive;
    const endMs = performance.now() + PATIENCE_MS;
    while (isAlive() && performance.now() < endMs) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
    expect(isAlive()).toBe(false);
    await until(() => region.processes().length === 1);
    expect(semaphore.waiting).toBe(0);
    all?.release();
    expect(semaphore.available()).toBe(3);
  });

  test('leaves its place and its counter stripe to the next', async () => {
    const region = hostRegion();
    Semaphore.open(region, 'permits', { permits: 3, stats: true });
    for (let i = 0; i < USERS; i++) {
      const user = await startProcess('host-user');
      expect(await result(user, { hold: region.path, permits: 3, waits: true })).toBe(true);
      user.kill('SIGKILL');
      await once(user, 'exit');
    }
    await until(() => region.processes().length === 1);
    const semaphore = Semaphore.open(region, 'permits', { permits: 3 });
    expect(semaphore.available()).toBe(3);
    expect(semaphore.stats()).toMatchObject({ calls: USERS, admitted: 3 * USERS });
  });
});

test('a change of the limit in one process wakes a caller in another', async () => {
  const region = hostRegion();
  const bucket = TokenBucket.open(region, 'api', { burst: 5, rate: 0, initial: 0 });
  const child = await startProcess('host-user');
  const woken = result(child, { wait: region.path });
  await until(() => region.processes().length === 2);
  // The caller has reserved its token: the bucket is in debt.
  await until(() => bucket.balance() <= -0.9);
  bucket.reconfigure({ rate: 4e9 });
  await woken;
});

const PROCESSES = 4;
const STEPS = IN_FULL ? 40 : 3;
/** So many steps are enough for any scheduler to let every thread take part. */
const MOST_STEPS = 200;

test('four processes of two threads are admitted exactly burst + rate * t after every step', async () => {
  const region = hostRegion();
  const clock = ManualClock.open(region, 'clock');
  const gate = ManualClock.open(region, 'gate');
  const limit = { rate: 4_000_000, burst: 200_000 };
  const bucket = TokenBucket.open(region, 'api', { ...limit, clock, stats: true });
  const children = await startProcesses('host-process', PROCESSES);
  let admitted = 0;
  let failedExchanges = 0;
  const byThread = Array.from({ length: 2 * PROCESSES }, () => 0);
  const isDone = () => failedExchanges > 0 && byThread.every((count) => count > 0);
  for (let step = 1; step <= STEPS || (step <= MOST_STEPS && !isDone()); step++) {
    const job: HammerStep = { path: region.path, ...limit, startMs: step };
    const answers = children.map((child) => ask<Hammered[]>(child, job));
    gate.advance(1);
    const threads = (await Promise.all(answers)).flat();
    for (const [i, thread] of threads.entries()) {
      admitted += thread.admitted;
      failedExchanges = Math.max(failedExchanges, thread.failedExchanges);
      byThread[i] = (byThread[i] ?? 0) + thread.admitted;
    }
    expect(admitted).toBe(limit.burst + (limit.rate * clock.nowMs) / 1000);
    clock.advance(50);
  }
  expect(
    byThread.every((count) => count > 0),
    `${byThread}`,
  ).toBe(true);
  expect(bucket.stats()).toMatchObject({ admitted });
  expect(bucket.stats().failedExchanges).toBeGreaterThan(0);
});

const OPENER = 1;
const UNKNOWN = () => undefined;

/** The memory of a region as another thread of the process gets it: not that which it opened. */
function sentTo({ buffer }: Region): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(buffer.byteLength);
  new Uint8Array(memory).set(new Uint8Array(buffer));
  return memory;
}

describe('a thread that got a region by a handle', () => {
  test('shares the entry of what it has open of the same file', () => {
    const region = hostRegion();
    const memory = sentTo(region);
    const before = opened(region.path);
    join(memory, region.path, OPENER, () => region.memory);
    expect(sharingOf.get(memory)).toBe(region.sharing);
    expect(opened(region.path)).toBe(before);
  });

  test('has an entry of its own, once, and hands on that of the opener', () => {
    const region = hostRegion();
    const [first, second] = [sentTo(region), sentTo(region)];
    const before = opened(region.path);
    join(first, region.path, OPENER, UNKNOWN);
    expect(sharingOf.get(first)).toMatchObject({ path: region.path, process: 2, opener: OPENER });
    expect(Region.open(first).place).toEqual({ path: region.path, process: OPENER });
    const file = openFile(region.path, EXISTING);
    expect(new FileLocks(loadLibc(), file).isTaken(2)).toBe(true);
    file.close();
    join(second, region.path, OPENER, UNKNOWN);
    expect(sharingOf.get(second)).toBe(sharingOf.get(first));
    expect(opened(region.path)).toBe(before + 1);
  });

  test('has no entry in the file of another region, or in none', () => {
    const region = hostRegion();
    const memory = sentTo(region);
    rmSync(region.path);
    join(memory, region.path, OPENER, UNKNOWN);
    // Its first entry was written by the same thread, but later.
    const other = HostRegion.open({ path: region.path });
    onTestFinished(() => other.close());
    const before = opened(region.path);
    join(memory, region.path, OPENER, UNKNOWN);
    expect(sharingOf.get(memory)).toBeUndefined();
    expect(opened(region.path)).toBe(before);
  });

  test.each([
    ['lie outside', (i32: Int32Array) => i32.fill(2 ** 30, REGION.processes, REGION.processes + 1)],
    [
      'have no opener',
      (i32: Int32Array) => {
        const entry = (i32[REGION.processes] ?? 0) + OPENER * PROCESS_BYTES;
        i32.fill(0, entry >> 2, (entry + PROCESS_BYTES) >> 2);
      },
    ],
  ])('has no entry in a region whose processes %s', (_, damage) => {
    const region = hostRegion();
    const memory = sentTo(region);
    damage(new Int32Array(memory));
    damage(region.i32);
    join(memory, region.path, OPENER, UNKNOWN);
    expect(sharingOf.get(memory)).toBeUndefined();
  });

  test('hears of errors of its own code', () => {
    const region = hostRegion();
    const before = opened(region.path);
    const broken = () => {
      throw new TypeError('a mistake');
    };
    expect(() => join(sentTo(region), region.path, OPENER, broken)).toThrow('a mistake');
    expect(opened(region.path)).toBe(before);
  });
});

describe("a handle's process", () => {
  const invalid = expect.objectContaining({
    code: 'ERR_HANDLE_INVALID',
    message: "the handle's process must be an entry's number",
  });

  test.each([0, -1, 1.5, 256, '1', undefined])('must not be %o', (process) => {
    const { handle } = Region.create();
    const attach = () => Region.attach({ ...handle, path: '/dev/shm/x', process } as never);
    expect(attach).toThrow(invalid);
  });

  test('is that of the file where zerotime/host was not imported', async () => {
    vi.resetModules();
    onTestFinished(() => void vi.resetModules());
    const core = await import('../../src/index.ts');
    const { handle } = core.Region.create();
    const path = '/dev/shm/x';
    const region = core.Region.attach({ ...handle, path, process: 255 });
    expect(region.handle).toMatchObject({ path, process: 255 });
    expect(region.sharing?.hasEnded(7)).toBe(false);
    expect(region.sharing?.recoverEnded()).toBeUndefined();
    expect(core.Region.attach({ ...handle, path, process: 3 }).sharing).toBe(region.sharing);
    // As it arrives in another process.
    const lost = { ...handle, memory: {} as never, path, process: 255 };
    expect(() => core.Region.attach(lost)).toThrow(
      expect.objectContaining({
        code: 'ERR_HOST_UNSUPPORTED',
        message: "the handle's region is a file: import 'zerotime/host' first",
      }),
    );
  });
});
