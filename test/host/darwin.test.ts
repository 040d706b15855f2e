import { closeSync, fstatSync, openSync, writeSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import koffi from 'koffi';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { linux } from '../../src/host/platform.ts';
import { DarwinKoffi } from '../support/darwin.ts';
import { expectRefused, hostError, hostPath } from '../support/host.ts';
import { plant, plantFfi, plantKoffi } from '../support/plant.ts';

// The next file may run in the same process, and must not get these imports.
afterEach(() => {
  vi.resetModules();
});

/** A Mac whose system is that of this machine underneath. */
function mac(): DarwinKoffi {
  const simulated = new DarwinKoffi();
  plantKoffi(() => simulated);
  plant(process, 'platform', 'darwin');
  plant(process, 'arch', 'arm64');
  vi.resetModules();
  return simulated;
}

/** Opens an empty file that is closed and removed with the test. */
function emptyFile(): number {
  const file = openSync(hostPath(), 'w+');
  onTestFinished(() => closeSync(file));
  return file;
}

/** The locks of a file that is opened anew, and closed with the test. */
async function locksOf(path: string) {
  const { FileLocks } = await import('../../src/host/file-locks.ts');
  const { loadLibc } = await import('../../src/host/native.ts');
  const { EXISTING, openFile } = await import('../../src/host/region-file.ts');
  const file = openFile(path, { ...EXISTING, isCreated: true, mode: 0o600 });
  onTestFinished(() => file.close());
  return new FileLocks(loadLibc(), file);
}

const unsupported = (message: string) => hostError('ERR_HOST_UNSUPPORTED', message);

test('a region can be opened, shared with another thread, and closed', async () => {
  const simulated = mac();
  const host = await import('../../src/host.ts');
  const { TokenBucket } = await import('../../src/index.ts');
  const region = host.HostRegion.open({ path: hostPath() });
  expect(region.binding).toBe('koffi');
  expect(region.processes()).toMatchObject([{ pid: process.pid, isAlive: true, isOwn: true }]);
  const bucket = TokenBucket.open(region, 'api', { rate: 1e-6, burst: 10 });
  bucket.tryConsume(4);
  region.close();
  const again = host.HostRegion.open({ path: region.path });
  onTestFinished(() => again.close());
  expect(TokenBucket.open(again, 'api', { rate: 1e-6, burst: 10 }).available()).toBeCloseTo(6);
  expect([...simulated.declared.keys()].sort()).toEqual([
    'fchmod',
    'fcntl',
    'mmap',
    'sysctlbyname',
  ]);
});

test('fcntl is declared as variadic, which matters on arm64', async () => {
  const simulated = mac();
  const { loadLibc } = await import('../../src/host/native.ts');
  loadLibc();
  expect(simulated.declared.get('fcntl')).toEqual(['int', 'int', '...']);
});

test('koffi calls a variadic fcntl, and sees its changes', () => {
  const fcntl = koffi.load(null).func('fcntl', 'int', ['int', 'int', '...']);
  const file = emptyFile();
  const { lock } = linux;
  const flock = new Uint8Array(lock.bytes);
  const view = new DataView(flock.buffer);
  view.setInt16(lock.type, lock.exclusive, true);
  view.setBigInt64(lock.length, 1n, true);
  expect(fcntl(file, lock.get, 'void *', flock)).toBe(0);
  expect(view.getInt16(lock.type, true)).toBe(lock.none);
  expect(fcntl(-1, lock.get, 'void *', flock)).toBe(-1);
  expect(koffi.errno()).toBe(constants.errno.EBADF);
});

test('a lock is F_OFD_SETLK of one byte, F_WRLCK, in the struct flock of macOS', async () => {
  const simulated = mac();
  const locks = await locksOf(hostPath());
  expect(locks.take(7)).toBe(true);
  expect(locks.isTaken(7)).toBe(false);
  locks.release(7);
  const start = [7, 0, 0, 0, 0, 1, 0, 0];
  const [length, pid, whence] = [
    [1, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0],
    [0, 0],
  ];
  const flock = (type: number) => [...start, ...length, ...pid, type, 0, ...whence];
  const [unlock, write] = [2, 3];
  expect(simulated.calls).toEqual([
    { command: 90, struct: flock(write) },
    { command: 92, struct: flock(write) },
    { command: 90, struct: flock(unlock) },
  ]);
});

test('another open file has a lock of its own', async () => {
  mac();
  const path = hostPath();
  const [mine, theirs] = [await locksOf(path), await locksOf(path)];
  expect(mine.take(1)).toBe(true);
  expect(theirs.take(1)).toBe(false);
  mine.release(1);
  expect(theirs.take(1)).toBe(true);
  expect(mine.isTaken(1)).toBe(true);
});

test('room is F_PREALLOCATE of all or nothing from the end, and the file grows over it', async () => {
  const simulated = mac();
  const { loadLibc } = await import('../../src/host/native.ts');
  const file = emptyFile();
  writeSync(file, new Uint8Array(64));
  expect(loadLibc().allocate(file, 0, 65_536)).toBe(0);
  expect(fstatSync(file).size).toBe(65_536);
  const [flags, mode] = [
    [4, 0, 0, 0],
    [3, 0, 0, 0],
  ];
  const [offset, length, allocated] = [
    Array(8).fill(0),
    [0, 0, 1, 0, 0, 0, 0, 0],
    Array(8).fill(0),
  ];
  const struct = [flags, mode, offset, length, allocated].flat();
  expect(simulated.calls).toEqual([{ command: 42, struct }]);
});

test('a full disk is an error of its name', async () => {
  const simulated = mac();
  simulated.allocationError = constants.errno.ENOSPC;
  const host = await import('../../src/host.ts');
  const path = hostPath();
  expectRefused(host, path, 'ERR_HOST_FULL', `${path} cannot get 1048576 bytes: ENOSPC`);
});

test('a file that cannot grow has the number of that error', async () => {
  mac();
  const { loadLibc } = await import('../../src/host/native.ts');
  expect(loadLibc().allocate(-1, 0, 65_536)).toBe(constants.errno.EIO);
  const closed = openSync('/dev/null', 'r');
  closeSync(closed);
  expect(loadLibc().allocate(closed, 0, 65_536)).toBe(constants.errno.EBADF);
});

test('a region is stale after the next start, which kern.bootsessionuuid tells', async () => {
  const simulated = mac();
  const path = hostPath();
  const before = await import('../../src/host.ts');
  before.HostRegion.open({ path }).close();
  before.HostRegion.open({ path }).close();
  simulated.boot = 'FFFFFFFF-0D2F-4E3A-9B8C-7D6E5F4A3B2C';
  vi.resetModules();
  const after = await import('../../src/host.ts');
  expect(() => after.HostRegion.open({ path })).toThrow(
    expect.objectContaining({ code: 'ERR_HOST_STALE' }),
  );
});

test('a Mac must tell when it was started', async () => {
  const simulated = mac();
  simulated.boot = 'none';
  const other = await import('../../src/host.ts');
  expectRefused(other, hostPath(), 'ERR_HOST_UNSUPPORTED', 'kern.bootsessionuuid holds no id');
  vi.resetModules();
  simulated.hidesBoot = true;
  const hidden = await import('../../src/host.ts');
  const message =
    'zerotime/host cannot read kern.bootsessionuuid: sysctlbyname failed with error ' +
    constants.errno.ENOENT;
  expectRefused(hidden, hostPath(), 'ERR_HOST_UNSUPPORTED', message);
});

test('node:ffi is refused, and not taken by itself', async () => {
  mac();
  plantFfi(() => ({ DynamicLibrary: class {}, getRawPointer: () => 0n }));
  const { loadLibc } = await import('../../src/host/native.ts');
  expect(() => loadLibc('node:ffi')).toThrow(
    unsupported(
      'node:ffi cannot call fcntl on macOS, which takes a variable number of arguments: install ' +
        'koffi, and leave out the option binding',
    ),
  );
  expect(loadLibc().name).toBe('koffi');
});

test("a name refers to a file in the user's temporary folder", async () => {
  mac();
  const { pathOf } = await import('../../src/host/region-file.ts');
  expect(pathOf('my-service')).toBe(`${tmpdir()}/my-service`);
});

test('other architectures are refused', async () => {
  mac();
  plant(process, 'arch', 'ia32');
  const { loadLibc } = await import('../../src/host/native.ts');
  expect(() => loadLibc()).toThrow('needs 64-bit Linux or macOS, this is darwin on ia32');
});
