import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HostRegion } from '../../src/host.ts';
import { Region, TokenBucket } from '../../src/index.ts';
import { REGION, REGION_FILE } from '../../src/memory/layout.ts';
import { hostPath, hostRegion } from '../support/host.ts';

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

/** The file of a region that was complete, and is closed. */
function closedFile(): string {
  const region = hostRegion();
  region.close();
  return region.path;
}

function overwrite(path: string, at: number, bytes: Uint8Array): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
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

describe('opening fails, with a code and what to do, if the file', () => {
  test('is a symbolic link', () => {
    const [target, link] = [closedFile(), hostPath()];
    symlinkSync(target, link);
    const answer = refusal(() => HostRegion.open({ path: link }));
    expect(answer).toEqual(['ERR_HOST_DENIED', `${link} is a symbolic link`]);
  });

  test('is a folder or a pipe', () => {
    const [folder, pipe] = [hostPath(), hostPath()];
    mkdirSync(folder);
    onTestFinished(() => rmSync(folder, { recursive: true }));
    execFileSync('mkfifo', [pipe]);
    for (const [path, what] of [
      [folder, 'is a folder'],
      [pipe, 'is not a regular file'],
    ] as const) {
      const answer = refusal(() => HostRegion.open({ path }));
      expect(answer).toEqual(['ERR_HOST_DENIED', `${path} ${what}`]);
    }
  });

  test.runIf(process.geteuid?.() === 0)('belongs to another user, unless that is trusted', () => {
    const path = closedFile();
    chownSync(path, 12_345, 0);
    const [code, message] = refusal(() => HostRegion.open({ path }));
    expect(code).toBe('ERR_HOST_DENIED');
    expect(message).toBe(
      `${path} belongs to user 12345, not 0: set owner to a user that you trust`,
    );
    HostRegion.open({ path, owner: 12_345 }).close();
  });

  test.runIf(process.geteuid?.() !== 0)('must not be opened', () => {
    const path = closedFile();
    chmodSync(path, 0);
    const answer = refusal(() => HostRegion.open({ path }));
    expect(answer).toEqual(['ERR_HOST_DENIED', `${path} cannot be opened: EACCES`]);
  });

  test('was cut', () => {
    const path = closedFile();
    truncateSync(path, 65_536);
    const answer = refusal(() => HostRegion.open({ path }));
    expect(answer).toEqual([
      'ERR_REGION_INVALID',
      `${path} was cut: it has 65536 of 1048576 bytes`,
    ]);
    truncateSync(path, 10);
    expect(refusal(() => HostRegion.open({ path }))[0]).toBe('ERR_REGION_INVALID');
  });

  test('holds something else', () => {
    const path = hostPath();
    writeFileSync(path, 'the diary of somebody else');
    const answer = refusal(() => HostRegion.open({ path }));
    expect(answer).toEqual(['ERR_REGION_INVALID', `${path} holds no zerotime region`]);
    expect(readFileSync(path, 'utf8')).toBe('the diary of somebody else');
  });

  test('is of another version', () => {
    const path = closedFile();
    overwrite(path, 4 * REGION.version, new Uint8Array(new Int32Array([0x77]).buffer));
    const answer = refusal(() => HostRegion.open({ path }));
    expect(answer).toEqual([
      'ERR_REGION_INVALID',
      `${path} has format version 119, this is version 1`,
    ]);
  });

  test('was made before the last start of the machine', () => {
    const path = closedFile();
    overwrite(path, REGION_FILE.boot, new Uint8Array(16));
    const answer = refusal(() => HostRegion.open({ path }));
    expect(answer).toEqual([
      'ERR_HOST_STALE',
      `${path} was created before this machine's last start, or on another machine: remove it, or ` +
        "open it with afterReboot: 'keep'",
    ]);
  });

  test('was made in another time namespace', () => {
    const path = closedFile();
    overwrite(path, REGION_FILE.timeNamespace, new Uint8Array(new Float64Array([1]).buffer));
    const answer = refusal(() => HostRegion.open({ path }));
    expect(answer).toEqual([
      'ERR_HOST_STALE',
      `${path} was created in another time namespace, which has another clock`,
    ]);
  });

  test('has another size', () => {
    const path = closedFile();
    const answer = refusal(() => HostRegion.open({ path, bytes: 65_536 }));
    expect(answer).toEqual(['ERR_REGION_INVALID', `${path} has 1048576 bytes, not 65536`]);
    HostRegion.open({ path, bytes: 1_048_576 }).close();
  });

  test('says that its processes lie outside it', () => {
    const path = closedFile();
    overwrite(path, 4 * REGION.processes, new Uint8Array(new Int32Array([2 ** 30]).buffer));
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
