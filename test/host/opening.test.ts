import { closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { relative } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { HostStock } from '../../src/host/limiters.ts';
import { pathOf } from '../../src/host/region-file.ts';
import { HostRegion } from '../../src/host.ts';
import { ManualClock, Semaphore, TokenBucket } from '../../src/index.ts';
import { isMeasured, readingIfAny } from '../../src/integrations/metrics/readings.ts';
import { FleetBucket } from '../../src/integrations/redis.ts';
import { RECORD, recordOffset } from '../../src/memory/layout/cell.ts';
import { PROCESS, PROCESS_BYTES, REGION } from '../../src/memory/layout.ts';
import { namesIn } from '../../src/memory/names.ts';
import { expectRefused, type Fs, hostPath, hostRegion, withFs, withLibc } from '../support/host.ts';

/** Makes `openSync` fail; each call takes the next code, and the last one stays. */
function failing(codes: string[]) {
  return ({ openSync: real }: Fs): Partial<Fs> => ({
    openSync(path, flags, mode) {
      const code = codes.length > 1 ? codes.shift() : codes[0];
      if (code === '') return real(path, flags, mode);
      throw Object.assign(new Error('it failed'), code === 'none' ? {} : { code });
    },
  });
}

test('a name is that of a file in /dev/shm; a path is made absolute', () => {
  expect(pathOf('my-service')).toBe('/dev/shm/my-service');
  expect(pathOf('./my-service')).toBe(`${process.cwd()}/my-service`);
  expect(pathOf('/tmp/../my-service')).toBe('/my-service');
  // Handles travel.
  const path = hostPath();
  expect(hostRegion({ path: relative('', path) }).handle.path).toBe(path);
});

describe('a file that cannot be opened', () => {
  test.each([
    ['ENOENT', 'ERR_HOST_DENIED', 'cannot be created: its folder does not exist'],
    ['ENOSPC', 'ERR_HOST_FULL', 'has no room in its folder'],
    ['ERR_ACCESS_DENIED', 'ERR_HOST_DENIED', 'is outside what --allow-fs-write permits'],
    ['EROFS', 'ERR_HOST_DENIED', 'cannot be opened: EROFS'],
    ['none', 'ERR_HOST_DENIED', 'cannot be opened: it failed'],
  ])('because of %s is %s', async (cause, code, message) => {
    const path = hostPath();
    const host = await withFs(failing([cause]));
    expectRefused(host, path, code, `${path} ${message}`);
  });

  test('is opened once another process has created it', async () => {
    const path = hostPath();
    // There is none; another creates one; it can be opened; so it is mapped.
    const host = await withFs(failing(['ENOENT', 'EEXIST', 'ENOENT', '']));
    const region = host.HostRegion.open({ path });
    onTestFinished(() => region.close());
    expect(region.processes()).toHaveLength(1);
  });

  test('because others create and remove it again and again is an error', async () => {
    const path = hostPath();
    const codes = Array.from({ length: 1000 }, (_, i) => (i % 2 === 0 ? 'ENOENT' : 'EEXIST'));
    const host = await withFs(failing(codes));
    expectRefused(host, path, 'ERR_HOST_DENIED', `${path} cannot be opened: EEXIST`);
    expect(codes).toHaveLength(800);
  });
});

describe('opening fails', () => {
  test('if the file is replaced each time, and closes all', async () => {
    const path = hostPath();
    const host = await withLibc((real) => ({
      allocate(file, at, bytes) {
        rmSync(path);
        writeFileSync(path, '');
        return real.allocate(file, at, bytes);
      },
    }));
    const open = openSync(path, 'w');
    closeSync(open);
    expectRefused(host, path, 'ERR_REGION_INVALID', `${path} is replaced each time it is opened`);
    const next = openSync(path, 'r');
    closeSync(next);
    expect(next).toBe(open);
  });

  test.each([
    ['has no room', { allocate: () => constants.errno.ENOSPC }, 'ERR_HOST_FULL'],
    ['cannot be locked', { lock: () => -1 }, 'ERR_HOST_UNSUPPORTED'],
    ['has no such mode', { chmod: () => -1 }, 'ERR_HOST_UNSUPPORTED'],
  ])('if the file system %s: a new file is removed, one that was there stays', async (...row) => {
    const [, libc, code] = row;
    const [made, found] = [hostPath(), hostPath()];
    writeFileSync(found, '');
    const host = await withLibc(() => libc);
    for (const path of [made, found]) {
      expect(() => host.HostRegion.open({ path })).toThrow(expect.objectContaining({ code }));
    }
    expect([existsSync(made), existsSync(found)]).toEqual([false, true]);
  });

  test('if the file cannot be mapped', async () => {
    const path = hostPath();
    const host = await withLibc(() => ({ map: () => false }));
    expectRefused(host, path, 'ERR_HOST_UNSUPPORTED', `${path} cannot be mapped`);
  });

  test('without WebAssembly', async () => {
    vi.stubGlobal('WebAssembly', undefined);
    vi.resetModules();
    const host = await import('../../src/host.ts');
    const message = 'zerotime/host needs WebAssembly and address space for its memory';
    expectRefused(host, hostPath(), 'ERR_HOST_UNSUPPORTED', message);
  });

  test('if a process that creates the region stands still', async () => {
    const path = hostPath();
    let nowMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const waits: unknown[] = [];
    vi.spyOn(Atomics, 'wait').mockImplementation((_array, _index, _value, ms) => {
      waits.push(ms);
      nowMs += 2500;
      return 'timed-out';
    });
    const [setLock, getLock, exclusive] = [37, 36, 1];
    const host = await withLibc(() => ({
      lock(_file, command, flock) {
        if (command === getLock) new DataView(flock.buffer).setInt16(0, exclusive, true);
        return command === setLock ? -1 : 0;
      },
    }));
    const message = `${path} is being created or removed by a process that stands still`;
    expectRefused(host, path, 'ERR_HOST_BUSY', message);
    expect(waits).toEqual([1, 1, 1, 1, 1]);
    expect(existsSync(path)).toBe(true); // it is the other process's now
  });

  test('if each entry is taken', async () => {
    const [setLock, exclusive] = [37, 1];
    const host = await withLibc((real) => ({
      lock(file, command, flock) {
        const view = new DataView(flock.buffer);
        const entry = Number(view.getBigInt64(8, true) - 2n ** 40n);
        if (entry === 0) return real.lock(file, command, flock);
        view.setInt16(0, exclusive, true);
        return command === setLock ? -1 : 0;
      },
    }));
    const message = 'the region is open in 255 processes and threads, the maximum';
    expectRefused(host, hostPath(), 'ERR_HOST_BUSY', message);
  });
});

describe('a machine', () => {
  const BOOT = '/proc/sys/kernel/random/boot_id';
  const reading = (boot: () => string) => (real: Fs) => ({
    readFileSync: ((path: string, ...rest: []) =>
      path === BOOT ? boot() : real.readFileSync(path, ...rest)) as Fs['readFileSync'],
  });

  test('must tell when it was started', async () => {
    const hidden = await withFs(
      reading(() => {
        throw new Error('EACCES');
      }),
    );
    const path = hostPath();
    expectRefused(hidden, path, 'ERR_HOST_UNSUPPORTED', `zerotime/host cannot read ${BOOT}`);
    const other = await withFs(reading(() => 'none\n'));
    expectRefused(other, path, 'ERR_HOST_UNSUPPORTED', `${BOOT} holds no id`);
  });

  test.each([
    () => {
      throw new Error('ENOENT');
    },
    () => 'time',
  ])('may have no time namespaces', async (readlinkSync) => {
    const path = hostPath();
    const host = await withFs(() => ({ readlinkSync: readlinkSync as never }));
    host.HostRegion.open({ path }).close();
    host.HostRegion.open({ path }).close();
    // This kernel may have them.
    if (existsSync('/proc/self/ns/time')) {
      expect(() => HostRegion.open({ path })).toThrow('was created in another time namespace');
    }
  });
});

test('limiters are listed in their order, once, and attached to once', () => {
  const region = hostRegion();
  const bucket = TokenBucket.open(region, 'api', { rate: 1e-6, burst: 5, stats: true });
  ManualClock.open(region, 'clock');
  Semaphore.open(region, 'permits', { permits: 3 });
  const [first, second, ...others] = region.limiters();
  expect(others).toEqual([]);
  expect(first).toMatchObject({ name: 'api', kind: 'token-bucket' });
  expect(second).toMatchObject({ name: 'permits', kind: 'semaphore' });
  expect((first?.limiter as TokenBucket | undefined)?.handle.offset).toBe(bucket.handle.offset);
  TokenBucket.open(region, 'later', { rate: 1, burst: 5 });
  const again = region.limiters();
  expect(again.map(({ name }) => name)).toEqual(['api', 'permits', 'later']);
  expect(again[0]).toBe(first);
});

test('a damaged limiter is listed, can be printed, and is exported as damaged', () => {
  const region = hostRegion();
  const { offset } = TokenBucket.open(region, 'bad', { rate: 1, burst: 5 }).handle;
  region.f64[(recordOffset(offset, 0) + RECORD.pace) >> 3] = Number.NaN;
  TokenBucket.open(region, 'good', { rate: 1, burst: 5 });
  const [bad, good] = region.limiters().map(({ limiter }) => limiter as TokenBucket);
  const reason = "the limiter's configuration is invalid";
  expect(`${bad}`).toBe(`limiter { unreadable: ${reason} }`);
  expect(JSON.stringify(bad)).toBe(`{"limiter":"limiter","unreadable":"${reason}"}`);
  expect(() => bad?.tryConsume()).toThrow(
    expect.objectContaining({ code: 'ERR_REGION_DAMAGED', message: reason }),
  );
  expect([isMeasured(bad), readingIfAny(bad)]).toEqual([true, { damaged: 1 }]);
  expect(good?.tryConsume()).toBe(true);
});

test('an error that is no damage is not hidden', () => {
  const region = hostRegion();
  TokenBucket.open(region, 'api', { rate: 1, burst: 5 });
  vi.spyOn(TokenBucket, 'attach').mockImplementation(() => {
    throw new TypeError('a mistake');
  });
  expect(() => region.limiters()).toThrow('a mistake');
});

test('a region keeps working if damage stops the recovery, but not after an error of its own', () => {
  const region = hostRegion();
  const elsewhere = (region.i32[REGION.processes] ?? 0) + 9 * PROCESS_BYTES;
  region.i32[(elsewhere + PROCESS.pid) >> 2] = 12_345;
  const { sharing } = region;
  region.i32[REGION.names] = -64;
  let nowMs = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const recover = () => {
    nowMs += 1000;
    sharing?.recoverEnded();
  };
  recover();
  expect(region.i32[(elsewhere + PROCESS.pid) >> 2]).toBe(12_345);
  vi.spyOn(Atomics, 'load').mockImplementation(() => {
    throw new TypeError('a mistake');
  });
  // At most once in a quarter of a second.
  sharing?.recoverEnded();
  expect(recover).toThrow('a mistake');
  vi.mocked(Atomics.load).mockRestore();
  region.i32[REGION.names] = 0;
  recover();
  expect(region.processes()).toHaveLength(1);
});

const source = { consumeOrDrain: async (n: number) => n, returnTokens: async () => undefined };

/** Opens a fleet bucket that keeps ten tokens in stock. */
async function openFleet(region: HostRegion, name: string, stats: boolean): Promise<FleetBucket> {
  const options = { source, stock: 100, minStock: 10, maxAgeMs: Number.POSITIVE_INFINITY };
  const fleet = await FleetBucket.open(region, name, { ...options, stats });
  onTestFinished(() => fleet.close());
  return fleet;
}

test('the stock of a fleet bucket is listed among the limiters of its region', async () => {
  const region = hostRegion();
  TokenBucket.open(region, 'api', { rate: 1, burst: 5 });
  const fleet = await openFleet(region, 'hot', true);
  const plain = await openFleet(region, 'not counted', false);
  const [, hot, notCounted, ...others] = region.limiters();
  expect(others).toEqual([]);
  if (hot?.kind !== 'fleet-bucket' || notCounted?.kind !== 'fleet-bucket') {
    throw new Error('the stocks are not listed');
  }
  const { name, limiter } = hot;
  expect([name, limiter.limit, limiter.available(), limiter.bought]).toEqual(['hot', 100, 10, 10]);
  expect(`${limiter}`).toBe('FleetBucket { stock: 100, tokens: 10, bought: 10 }');
  expect(limiter).toBeInstanceOf(HostStock);
  expect(fleet.tryConsume(3)).toBe(true);
  expect(fleet.tryConsume(100)).toBe(false);
  expect(limiter.available()).toBe(7);
  expect(limiter.stats()).toMatchObject({ calls: 2, admitted: 3, refused: 1, waiting: 0 });
  expect(() => notCounted.limiter.stats()).toThrow(/stats: true/);
  // One object for each stock, so that it takes one stripe of counters.
  expect(region.limiters()[1]).toBe(hot);
  expect([isMeasured(limiter), isMeasured(notCounted.limiter)]).toEqual([true, false]);
  expect(plain.tryConsume()).toBe(true);
});

test('a closed region gets no name of a fleet bucket', async () => {
  const region = hostRegion();
  region.close();
  const late = FleetBucket.open(region, 'late', { source, stock: 100 });
  await expect(late).rejects.toThrow(/^the region was closed$/);
  expect([...namesIn(region)]).toEqual([]);
});
