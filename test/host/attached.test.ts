import { rmSync } from 'node:fs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { FileLocks } from '../../src/host/file-locks.ts';
import { join } from '../../src/host/host-region.ts';
import { loadLibc } from '../../src/host/native.ts';
import { EXISTING, openFile } from '../../src/host/region-file.ts';
import { HostRegion } from '../../src/host.ts';
import { Region } from '../../src/index.ts';
import { PROCESS_BYTES, REGION } from '../../src/memory/layout.ts';
import { sharingOf } from '../../src/memory/sharing.ts';
import { hostRegion, opened } from '../support/host.ts';

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
