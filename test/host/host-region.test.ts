import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { HostRegion } from '../../src/host.ts';
import { Region, Semaphore, TokenBucket } from '../../src/index.ts';
import { REGION, REGION_FILE } from '../../src/memory/layout.ts';
import { sharingOf } from '../../src/memory/sharing.ts';
import { closedRegion, hostError, hostPath, hostRegion, overwrite } from '../support/host.ts';
import { settled, until } from '../support/settled.ts';

/** The code and the message of the error with which opening fails. */
function refusal(open: () => unknown): readonly [string | undefined, string] {
  try {
    open();
    return [undefined, ''];
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return [code, message];
  }
}

describe('a region in a file', () => {
  test('is a region of its size, for its owner only', () => {
    const region = hostRegion({ bytes: 100_000 });
    expect(region).toBeInstanceOf(Region);
    expect(region.buffer.byteLength).toBe(131_072);
    const { size, mode, blocks } = statSync(region.path);
    expect([size, mode & 0o777, blocks * 512]).toEqual([131_072, 0o600, 131_072]);
    expect(region.path).toMatch(/^\/dev\/shm\//);
    expect(['koffi', 'node:ffi']).toContain(region.binding);
  });

  test('keeps its limiters from one opening to the next', () => {
    const path = hostPath();
    const first = HostRegion.open({ path });
    const bucket = TokenBucket.open(first, 'api', { rate: 1e-6, burst: 10 });
    bucket.tryConsume(4);
    expect(HostRegion.open({ path })).toBe(first);
    first.close();
    const second = HostRegion.open({ path });
    onTestFinished(() => second.close());
    // `not.toBe` would compare all of their bytes for its message.
    expect(second === first).toBe(false);
    expect(TokenBucket.open(second, 'api', { burst: 10, rate: 1e-6 }).available()).toBeCloseTo(6);
  });

  test('gets the permissions that were asked for, whatever the umask is', () => {
    const umask = process.umask(0o077);
    onTestFinished(() => void process.umask(umask));
    expect(statSync(hostRegion({ mode: 0o660 }).path).mode & 0o777).toBe(0o660);
  });

  test('lists the processes that have it open', () => {
    const region = hostRegion();
    expect(region.processes()).toEqual([
      { pid: process.pid, openMs: expect.any(Number), isAlive: true, isOwn: true },
    ]);
  });
});

describe.each([
  ['', {}],
  [' with holdMs', { holdMs: 60_000 }],
])('closing a region, with a semaphore%s', (_, options) => {
  const ENDED = expect.objectContaining({
    name: 'HandleError',
    code: 'ERR_REGION_INVALID',
    message: 'the region was closed, which ends the wait',
  });
  const open = (region: Region, permits = 1) =>
    Semaphore.open(region, 'permits', { permits, ...options });

  test('ends the waits for its permits, and leaves the queue', async () => {
    const region = hostRegion();
    const semaphore = open(region);
    await semaphore.acquire();
    const waits = [semaphore.acquire(), semaphore.run(() => 1), semaphore.acquire()];
    const ended = Promise.all(waits.map((wait) => expect(wait).rejects.toThrow(ENDED)));
    await until(() => semaphore.waiting === 3);
    region.close();
    await ended;
    const again = HostRegion.open({ path: region.path });
    onTestFinished(() => again.close());
    const other = open(again);
    expect([other.waiting, other.available()]).toEqual([0, 1]);
    const held = other.tryAcquire();
    await expect(semaphore.acquire()).rejects.toThrow(ENDED);
    expect(() => semaphore.acquireSync()).toThrow(ENDED);
    expect(other.waiting).toBe(0);
    held?.release();
  });

  test('ends the waits of a semaphore without a name within a second', async () => {
    const region = hostRegion();
    const semaphore = Semaphore.create({ permits: 1, ...options, region });
    semaphore.tryAcquire();
    const wait = expect(semaphore.acquire()).rejects.toThrow(ENDED);
    await until(() => semaphore.waiting === 1);
    region.close();
    await wait;
    expect(semaphore.waiting).toBe(0);
  });

  test('releases the permits, so that their own release does nothing', async () => {
    const region = hostRegion();
    const semaphore = open(region, 2);
    const permit = semaphore.tryAcquire();
    const result = semaphore.run(async () => {
      await settled();
      return 'done';
    });
    await settled(1);
    region.close();
    const again = HostRegion.open({ path: region.path });
    onTestFinished(() => again.close());
    const other = open(again, 2);
    const held = other.tryAcquire();
    permit?.release();
    expect(await result).toBe('done');
    expect(() => permit?.release()).toThrow('the permit was released before');
    expect(other.inUse()).toBe(1);
    held?.release();
  });
});

/** A region in which this thread acts as one without an entry of its own. */
function borrowedRegion(): HostRegion {
  const region = hostRegion();
  const { hasLeft: _, ...sharing } = region.sharing ?? expect.fail('it is shared');
  sharingOf.set(region.memory, sharing);
  return region;
}

test('closing a region ends the waits of a thread without an entry, and releases its permits', async () => {
  const region = borrowedRegion();
  const semaphore = Semaphore.open(region, 'permits', { permits: 1 });
  const permit = semaphore.tryAcquire();
  const waits = [semaphore.acquire(), semaphore.acquire()].map((wait) =>
    expect(wait).rejects.toThrow('the region was closed'),
  );
  await until(() => semaphore.waiting === 2);
  region.close();
  await Promise.all(waits);
  permit?.release();
  expect([semaphore.waiting, semaphore.available()]).toEqual([0, 1]);
});

test('closing a region ends the wait of a blocked thread without an entry', () => {
  const region = borrowedRegion();
  const semaphore = Semaphore.open(region, 'permits', { permits: 1 });
  semaphore.tryAcquire();
  const sleep = vi.spyOn(semaphore.clock, 'sleepSync').mockImplementationOnce(() => region.close());
  onTestFinished(() => sleep.mockRestore());
  expect(() => semaphore.acquireSync(1, { timeoutMs: 5_000 })).toThrow('the region was closed');
});

/** Makes something else in place of the file. */
const replaced = (make: (path: string) => unknown) => (path: string) => {
  rmSync(path);
  make(path);
};
const makePipe = (path: string) => execFileSync('mkfifo', [path]);
const linkRegion = (path: string) => symlinkSync(closedRegion(), path);

/** Writes a number of the header. */
const header = (at: number, value: ArrayLike<number> & ArrayBufferView) => (path: string) =>
  overwrite(path, at, new Uint8Array(value.buffer));

// The descriptor may be another file's by then.
test('after close, a region says so when it is asked about its processes or changes', () => {
  const region = hostRegion();
  region.close();
  const closed = hostError('ERR_REGION_INVALID', `${region.path} is closed in this thread`);
  expect(() => region.processes()).toThrow(closed);
  expect(() => region.operate(() => undefined)).toThrow(closed);
  expect(() => region.isOperated).toThrow(closed);
  expect(region.recovered().processes).toBe(0);
});

describe('opening fails, with a code and what to do, if the file', () => {
  test.each<[what: string, change: (path: string) => void, code: string, message: string]>([
    ['is a folder', replaced(mkdirSync), 'ERR_HOST_DENIED', ' is a folder'],
    ['is a pipe', replaced(makePipe), 'ERR_HOST_DENIED', ' is not a regular file'],
    ['is a symbolic link', replaced(linkRegion), 'ERR_HOST_DENIED', ' is a symbolic link'],
    [
      'was cut',
      (path) => truncateSync(path, 65_536),
      'ERR_REGION_INVALID',
      ' was cut: it has 65536 of 1048576 bytes',
    ],
    [
      'holds something else',
      (path) => writeFileSync(path, 'the diary of somebody else'),
      'ERR_REGION_INVALID',
      ' holds no zerotime region',
    ],
    [
      'is of another version',
      header(4 * REGION.version, new Int32Array([0x77])),
      'ERR_REGION_INVALID',
      ' has format version 119, this is version 1',
    ],
    [
      'was made before the last start of the machine',
      header(REGION_FILE.boot, new Uint8Array(16)),
      'ERR_HOST_STALE',
      " was created before this machine's last start, or on another machine: remove it, or open " +
        "it with afterReboot: 'keep'",
    ],
    [
      'was made in another time namespace',
      header(REGION_FILE.timeNamespace, new Float64Array([1])),
      'ERR_HOST_STALE',
      ' was created in another time namespace, which has another clock',
    ],
  ])('%s, which stays as it was', (_, change, code, message) => {
    const path = closedRegion();
    onTestFinished(() => rmSync(path, { recursive: true, force: true }));
    change(path);
    const bytes = () => (statSync(path).isFile() ? readFileSync(path) : Buffer.alloc(0));
    const before = bytes();
    expect(refusal(() => HostRegion.open({ path }))).toEqual([code, `${path}${message}`]);
    expect(bytes().equals(before)).toBe(true);
  });

  test.runIf(process.geteuid?.() === 0)('belongs to another user, unless that is trusted', () => {
    const path = closedRegion();
    chownSync(path, 12_345, 0);
    const [code, message] = refusal(() => HostRegion.open({ path }));
    expect(code).toBe('ERR_HOST_DENIED');
    expect(message).toBe(
      `${path} belongs to user 12345, not 0: set owner to a user that you trust`,
    );
    HostRegion.open({ path, owner: 12_345 }).close();
    // One that is missing is left to that user to create.
    rmSync(path);
    const missing = refusal(() => HostRegion.open({ path, owner: 12_345 }));
    expect(missing).toEqual(['ERR_REGION_INVALID', `${path} does not exist`]);
    expect(existsSync(path)).toBe(false);
  });

  test.runIf(process.geteuid?.() !== 0)('must not be opened', () => {
    const path = closedRegion();
    chmodSync(path, 0);
    const answer = refusal(() => HostRegion.open({ path }));
    expect(answer).toEqual(['ERR_HOST_DENIED', `${path} cannot be opened: EACCES`]);
  });

  test.runIf(process.platform === 'linux')('cannot be read', () => {
    const path = '/proc/self/mem'; // which has nothing at its start
    const answer = refusal(() => HostRegion.find(path));
    expect(answer).toEqual(['ERR_HOST_DENIED', `${path} cannot be read: EIO`]);
  });

  test('has another size', () => {
    const path = closedRegion();
    const answer = refusal(() => HostRegion.open({ path, bytes: 65_536 }));
    expect(answer).toEqual(['ERR_REGION_INVALID', `${path} has 1048576 bytes, not 65536`]);
    HostRegion.open({ path, bytes: 1_048_576 }).close();
  });

  test('was cut within its header', () => {
    const path = closedRegion();
    truncateSync(path, 10);
    expect(refusal(() => HostRegion.open({ path }))[0]).toBe('ERR_REGION_INVALID');
  });

  test('says that its processes lie outside it', () => {
    const path = closedRegion();
    header(4 * REGION.processes, new Int32Array([2 ** 30]))(path);
    expect(refusal(() => HostRegion.open({ path }))[0]).toBe('ERR_REGION_DAMAGED');
  });

  test('does not exist, where it must', () => {
    const path = hostPath();
    const answer = refusal(() => HostRegion.find(path));
    expect(answer).toEqual(['ERR_REGION_INVALID', `${path} does not exist`]);
    expect(existsSync(path)).toBe(false);
    writeFileSync(path, '');
    expect(refusal(() => HostRegion.find(path))[1]).toBe(`${path} holds no region yet`);
  });
});

test('options are checked', () => {
  const open = (options: object) => () => HostRegion.open({ path: hostPath(), ...options });
  expect(open({ path: '' })).toThrow(new TypeError('path must be a non-empty string, got ""'));
  expect(open({ byte: 1 })).toThrow('options has no option "byte"; did you mean bytes?');
  expect(open({ bytes: 0 })).toThrow('bytes must be an integer at least 1');
  expect(open({ mode: 0o400 })).toThrow(
    new RangeError('mode must be an integer from 0o600 to 0o777, got 0o400'),
  );
  expect(open({ mode: 0o1777 })).toThrow('0o777, got 0o1777');
  expect(open({ mode: -1.5 })).toThrow('got -1.5');
  expect(open({ mode: '600' })).toThrow(
    new TypeError('mode must be an integer from 0o600 to 0o777, got "600"'),
  );
  expect(open({ owner: -1 })).toThrow('owner must be an integer at least 0, got -1');
  expect(open({ binding: 'ffi' })).toThrow('binding must be "node:ffi" or "koffi", got "ffi"');
});

test('a path and an owner are checked where a region must exist', () => {
  const find = HostRegion.find as (path: unknown, owner?: unknown) => unknown;
  const message = 'path must be a non-empty string, got undefined';
  expect(() => find(undefined)).toThrow(new TypeError(message));
  expect(() => find(hostPath(), 'x')).toThrow(
    new TypeError('owner must be an integer at least 0, got "x"'),
  );
});

test('HostRegion.create makes no private region', () => {
  const create = HostRegion.create as (options: object) => unknown;
  expect(() => create({ bytes: 65_536 })).toThrow(
    new TypeError('HostRegion.create does not exist: use HostRegion.open or Region.create'),
  );
});
