import { closeSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { FileLocks } from '../../src/host/file-locks.ts';
import type { Libc } from '../../src/host/libc.ts';
import { loadLibc } from '../../src/host/native.ts';
import { openFile } from '../../src/host/region-file.ts';
import { checkRegion, createRegion } from '../../src/host/region-header.ts';
import { HostRegion } from '../../src/host.ts';
import {
  REGION,
  REGION_HEADER_BYTES,
  REGION_MAGIC,
  REGION_UNFINISHED,
  REGION_VERSION,
} from '../../src/memory/layout.ts';
import { wasmMemories } from '../../src/memory/shared-memory.ts';
import { hostPath, hostRegion, saidByOpener } from '../support/host.ts';

const BYTES = 65_536;
const WANTED = { owner: undefined, mode: 0o600, isCreated: true, isKept: false };

/** Opens a new file that is closed and removed with the test. */
function newFile() {
  const file = openFile(hostPath(), WANTED);
  onTestFinished(() => file.close());
  return file;
}

test('a file that begins with zeros is not mistaken for an incomplete region', () => {
  const path = hostPath();
  const image = Buffer.alloc(200_000);
  image.write('a kilobyte of zeros, then data', 1024);
  writeFileSync(path, image);
  const refused = expect.objectContaining({
    code: 'ERR_REGION_INVALID',
    message: `${path} holds no zerotime region`,
  });
  expect(() => HostRegion.open({ path })).toThrow(refused);
  expect(() => HostRegion.open({ path, bytes: 200_000 })).toThrow(refused);
  expect(readFileSync(path).equals(image)).toBe(true);
});

test('an empty or incomplete file becomes a region', () => {
  const path = hostPath();
  writeFileSync(path, '');
  const header = new Int32Array(REGION_HEADER_BYTES / 4);
  for (let round = 0; round < 2; round++) {
    const region = HostRegion.open({ path, bytes: BYTES });
    region.close();
    expect([region.buffer.byteLength, statSync(path).size]).toEqual([BYTES, BYTES]);
    header[REGION.magic] = REGION_UNFINISHED;
    writeFileSync(path, header);
  }
});

test('a file says that it is unfinished before it grows', () => {
  const file = newFile();
  const libc: Libc = { ...loadLibc(), allocate: () => constants.errno.EIO };
  const heads: number[] = [];
  const allocate = (descriptor: number, at: number, bytes: number) => {
    heads.push(readFileSync(file.path).readInt32LE(4 * REGION.magic));
    return loadLibc().allocate(descriptor, at, bytes);
  };
  expect(() => createRegion(file, libc, BYTES, 0o600)).toThrow('cannot get 65536 bytes: EIO');
  expect(statSync(file.path).size).toBe(0);
  createRegion(file, { ...libc, allocate }, BYTES, 0o600);
  expect(heads).toEqual([REGION_UNFINISHED]);
  expect(checkRegion(file)).toBe(BYTES);
});

test('a signal during the allocation does no harm', () => {
  const file = newFile();
  let calls = 0;
  const allocate = (descriptor: number, at: number, bytes: number) =>
    calls++ % 3 < 2 ? constants.errno.EINTR : loadLibc().allocate(descriptor, at, bytes);
  createRegion(file, { ...loadLibc(), allocate }, 3_145_728, 0o600);
  expect([calls, statSync(file.path).blocks * 512]).toEqual([9, 3_145_728]);
});

test('a size that no region has is refused', () => {
  const region = hostRegion({ bytes: BYTES });
  region.close();
  const header = new Int32Array(5000 / 4);
  header.set([REGION_MAGIC, REGION_VERSION]);
  header[REGION.bytes] = 5000;
  writeFileSync(region.path, header);
  const message = `${region.path} has 5000 bytes, not a multiple of 65536`;
  expect(() => HostRegion.open({ path: region.path })).toThrow(message);
});

test('a complete region opens while another process holds the lock for making it', () => {
  const region = hostRegion({ bytes: BYTES });
  region.close();
  const file = openFile(region.path, WANTED);
  onTestFinished(() => file.close());
  expect(new FileLocks(loadLibc(), file).take(0)).toBe(true);
  HostRegion.open({ path: region.path }).close();
});

test('a file that cannot be locked is an error, not a process to wait for', () => {
  const file = newFile();
  const { path } = file;
  const refusal = `${path} cannot be locked: its file system, or a sandbox, refuses F_OFD_SETLK`;
  const locks = new FileLocks(loadLibc(), { ...file, descriptor: -1 });
  expect(() => locks.take(1)).toThrow(refusal);
  expect(() => locks.isTaken(1)).toThrow(refusal);
  // For an exclusive lock, the file must be open for writing.
  const descriptor = openSync(path, 'r');
  onTestFinished(() => closeSync(descriptor));
  const readable = new FileLocks(loadLibc(), { ...file, descriptor });
  expect(() => readable.take(1)).toThrow(refusal);
});

/** Fails as Linux does with `fs.protected_regular`: O_CREAT for a file of another user. */
const PROTECTED = `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const { openSync, existsSync } = fs;
  fs.openSync = (path, flags, ...rest) => {
    const isForbidden = flags & fs.constants.O_CREAT && !(flags & fs.constants.O_EXCL);
    if (isForbidden && existsSync(path)) throw Object.assign(new Error(), { code: 'EACCES' });
    return openSync(path, flags, ...rest);
  };
  syncBuiltinESMExports();`;

test('a region opens in a sticky folder with protected_regular', () => {
  const { path } = hostRegion({ bytes: BYTES });
  expect(saidByOpener({ path }, { before: PROTECTED })).toBe('2');
});

test('regions in files count each among those for WebAssembly, as they reserve addresses too', () => {
  const before = wasmMemories.regions;
  const regions = [hostRegion({ bytes: BYTES }), hostRegion({ bytes: BYTES })];
  expect(wasmMemories.regions - before).toBe(regions.length);
});
