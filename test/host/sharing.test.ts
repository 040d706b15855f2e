import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HostRegion } from '../../src/host.ts';
import { Semaphore, systemClock, TokenBucket } from '../../src/index.ts';
import { ask, hostPath, hostRegion, startProcesses } from '../support/host.ts';
import { part, SHARE } from '../support/random.ts';
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
  const [child] = await startProcesses('host-user', 1);
  if (child === undefined) return;
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
    const [waiter] = await startProcesses('host-user', 1);
    if (waiter === undefined) return;
    result(waiter, { acquire: region.path }).catch(() => undefined);
    while (semaphore.waiting === 0) await new Promise(setImmediate);
    waiter.kill('SIGKILL');
    // Nobody recovers anything while this thread does not return to its event loop.
    const isAlive = () => region.processes().at(-1)?.isAlive;
    while (isAlive()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    expect(isAlive()).toBe(false);
    while (region.processes().length > 1) await new Promise(setImmediate);
    expect(semaphore.waiting).toBe(0);
    all?.release();
    expect(semaphore.available()).toBe(3);
  });

  test('leaves its place and its counter stripe to the next', async () => {
    const region = hostRegion();
    Semaphore.open(region, 'permits', { permits: 3, stats: true });
    for (let i = 0; i < USERS; i++) {
      const [user] = await startProcesses('host-user', 1);
      if (user === undefined) return;
      expect(await result(user, { hold: region.path, permits: 3, waits: true })).toBe(true);
      user.kill('SIGKILL');
      await once(user, 'exit');
    }
    while (region.processes().length > 1) await new Promise(setImmediate);
    const semaphore = Semaphore.open(region, 'permits', { permits: 3 });
    expect(semaphore.available()).toBe(3);
    expect(semaphore.stats()).toMatchObject({ calls: USERS, admitted: 3 * USERS });
  });
});

test('a change of the limit in one process wakes a caller in another', async () => {
  const region = hostRegion();
  const bucket = TokenBucket.open(region, 'api', { burst: 5, rate: 0, initial: 0 });
  const [child] = await startProcesses('host-user', 1);
  if (child === undefined) return;
  const woken = result(child, { wait: region.path });
  while (region.processes().length < 2) await new Promise(setImmediate);
  // The caller has reserved its token: the bucket is in debt.
  while (bucket.balance() > -0.9) await new Promise(setImmediate);
  bucket.reconfigure({ rate: 4e9 });
  await woken;
});
