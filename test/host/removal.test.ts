import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { shownRegion } from '../../src/cli/host/summary.ts';
import { FileLocks } from '../../src/host/file-locks.ts';
import { loadLibc, platform } from '../../src/host/native.ts';
import { EXISTING, openFile } from '../../src/host/region-file.ts';
import { removeRegion } from '../../src/host/region-header.ts';
import { BOOT_BYTES, PROCESS_BYTES, REGION, REGION_FILE } from '../../src/memory/layout.ts';
import {
  ask,
  closedRegion,
  hostError,
  hostPath,
  hostRegion,
  startProcesses,
  withFs,
  withLibc,
} from '../support/host.ts';
import { part } from '../support/random.ts';
import type { HostJob } from '../workers/host-user.ts';

const ASKED = { isForced: false };
const FORCED = { isForced: true };

test('a region in use is not removed, whatever pid its user has', () => {
  // This process has it open, so it is both the user and the remover.
  const { path } = hostRegion();
  expect(() => removeRegion(path, ASKED)).toThrow(
    expect.objectContaining({
      code: 'ERR_HOST_BUSY',
      message: `${path} is open in process ${process.pid}: end it first, or use --force`,
    }),
  );
  expect(existsSync(path)).toBe(true);
  removeRegion(path, FORCED);
  expect(existsSync(path)).toBe(false);
});

test('a process that is opening or closing a region is not named by a pid of 0', () => {
  const { path, i32 } = hostRegion();
  const entries = (i32[REGION.processes] ?? 0) >> 2;
  i32.subarray(entries).forEach((word, at, words) => {
    if (word === process.pid) words[at] = 0;
  });
  expect(() => removeRegion(path, ASKED)).toThrow(`${path} is being opened or closed: try again`);
  expect(existsSync(path)).toBe(true);
});

// docs/host.md: "A new process with the same pid is therefore never mistaken"
test('a process with the same pid in another container is listed', () => {
  const region = hostRegion();
  const elsewhere = (region.i32[REGION.processes] ?? 0) + 9 * PROCESS_BYTES;
  region.i32[elsewhere >> 2] = process.pid;
  const lines = shownRegion(region).join('\n');
  expect(lines).toContain('Processes (1)');
});

test('a region that cannot be opened can be removed', () => {
  const [unfinished, stale] = [hostPath(), hostRegion()];
  writeFileSync(unfinished, '');
  removeRegion(unfinished, ASKED);
  expect(existsSync(unfinished)).toBe(false);
  new Uint8Array(stale.buffer, REGION_FILE.boot, BOOT_BYTES).fill(0);
  expect(() => removeRegion(stale.path, ASKED)).toThrow('is open in process');
  stale.close();
  removeRegion(stale.path, ASKED);
  expect(existsSync(stale.path)).toBe(false);
});

// docs/host.md: "It never removes a file that holds anything else."
test('a file that holds something else is never removed', () => {
  const path = hostPath();
  writeFileSync(path, new Uint8Array(65_536));
  for (const options of [ASKED, FORCED]) {
    expect(() => removeRegion(path, options)).toThrow(`${path} holds no zerotime region`);
  }
  expect(readFileSync(path)).toHaveLength(65_536);
});

test('a file that this user must not remove says so, and stays', async () => {
  const path = closedRegion();
  await withFs(() => ({
    unlinkSync() {
      throw Object.assign(new Error('it failed'), { code: 'EPERM' });
    },
  }));
  const removal = await import('../../src/host/region-header.ts');
  expect(() => removal.removeRegion(path, FORCED)).toThrow(
    hostError('ERR_HOST_DENIED', `${path} cannot be removed: EPERM`),
  );
  expect(existsSync(path)).toBe(true);
});

interface Lost {
  readonly result: number;
}

describe('a removal races with an opening', () => {
  const FIRST_ENTRY = 2n ** 40n + 1n;

  test('that has not locked its entry yet: it opens a new region at the path', async () => {
    const path = closedRegion();
    let removals = 0;
    const host = await withLibc((real) => ({
      lock(file, command, flock) {
        const { lock } = platform;
        const view = new DataView(flock.buffer);
        const isFirst = view.getBigInt64(lock.start, true) === FIRST_ENTRY;
        // The file is open by now, and not locked.
        if (isFirst && command === lock.set && removals++ === 0) removeRegion(path, ASKED);
        return real.lock(file, command, flock);
      },
    }));
    const region = host.HostRegion.open({ path });
    onTestFinished(() => region.close());
    expect(removals).toBeGreaterThan(0);
    expect(host.HostRegion.find(path)).toBe(region);
  });

  test('that locks its entry just before the file goes: it cannot', async () => {
    const path = closedRegion();
    const file = openFile(path, EXISTING);
    onTestFinished(() => file.close());
    const locks = new FileLocks(loadLibc(), file);
    const taken: boolean[] = [];
    await withFs(({ unlinkSync }) => ({
      unlinkSync(...args) {
        taken.push(locks.take(1));
        return unlinkSync(...args);
      },
    }));
    const removal = await import('../../src/host/region-header.ts');
    removal.removeRegion(path, ASKED);
    expect([taken, existsSync(path)]).toEqual([[false], false]);
    expect(locks.take(1)).toBe(true);
  });

  test('by another removal: the second removes what is at the path, or says that it is gone', async () => {
    const path = closedRegion();
    let removals = 0;
    await withLibc((real) => ({
      lock(...args) {
        if (removals++ === 0) removeRegion(path, ASKED);
        return real.lock(...args);
      },
    }));
    const removal = await import('../../src/host/region-header.ts');
    expect(() => removal.removeRegion(path, ASKED)).toThrow(`${path} does not exist`);
  });

  test('of others that replace the file without end: it gives up', async () => {
    const path = closedRegion();
    await withFs(() => ({ lstatSync: () => undefined }) as never);
    const removal = await import('../../src/host/region-header.ts');
    expect(() => removal.removeRegion(path, ASKED)).toThrow(
      expect.objectContaining({
        code: 'ERR_HOST_BUSY',
        message: `${path} is replaced each time it is opened`,
      }),
    );
  });

  test('of others that open and close the region without end: it gives up', async () => {
    const path = closedRegion();
    const { lock } = platform;
    await withLibc((real) => ({
      lock(file, command, flock) {
        if (command === lock.set) return -1;
        const view = new DataView(flock.buffer);
        const isOfOne = view.getBigInt64(lock.length, true) === 1n;
        const answer = real.lock(file, command, flock);
        // Of all locks, one is taken; of each by itself, none any more.
        if (!isOfOne) view.setInt16(lock.type, lock.exclusive, true);
        return answer;
      },
    }));
    const removal = await import('../../src/host/region-header.ts');
    expect(() => removal.removeRegion(path, ASKED)).toThrow(
      `${path} is being opened or closed: try again`,
    );
  });

  test('that creates the region: the removal is refused', () => {
    const path = closedRegion();
    const file = openFile(path, EXISTING);
    onTestFinished(() => file.close());
    new FileLocks(loadLibc(), file).take(0);
    expect(() => removeRegion(path, ASKED)).toThrow(
      `${path} is being created or removed: try again`,
    );
  });

  test('of other processes, again and again: none ends in a removed file', async () => {
    const path = hostPath();
    const children = await startProcesses('host-user', 2);
    const job = { reopen: path, rounds: 500 } satisfies HostJob;
    const enough = part(200, 10);
    const outcomes = { removed: 0, 'is open in process': 0 };
    const remove = () => {
      try {
        removeRegion(path, ASKED);
        outcomes.removed++;
      } catch (error) {
        if ((error as Error).message.includes('is open in process'))
          outcomes['is open in process']++;
      }
    };
    // Until the removals came between the openings often enough.
    while (Math.min(...Object.values(outcomes)) < enough) {
      let isOver = false;
      const answers = Promise.all(children.map((child) => ask<Lost>(child, job))).finally(() => {
        isOver = true;
      });
      while (!isOver) {
        remove();
        await new Promise(setImmediate);
      }
      expect(await answers).toEqual([{ result: 0 }, { result: 0 }]);
    }
  });
});
