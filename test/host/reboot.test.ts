import { fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  LINE_BYTES,
  REGION_FILE,
  REGION_HEADER_BYTES,
  REGION_TIME,
} from '../../src/memory/layout.ts';
import { compiled } from '../support/crew.ts';
import { ask, hostPath, startProcess, startProcesses } from '../support/host.ts';
import { part, Random, SEED } from '../support/random.ts';
import type { Boot, Found } from '../workers/rebooted.ts';

const FIRST = { id: 'a', systemUs: 7e9, wallMs: 1.8e12 } as const;
const HOUR_MS = 3_600_000;

async function boot(job: Boot): Promise<Found> {
  const child = await startProcess('rebooted');
  const found = await ask<Found>(child, job);
  // As the power supply does it: nothing is closed.
  child.kill('SIGKILL');
  await once(child, 'exit');
  return found;
}

/** The part of a region's file by which its time goes on. */
function timeIn(path: string) {
  const bytes = Buffer.alloc(REGION_HEADER_BYTES + Math.max(...Object.values(REGION_TIME)) + 8);
  const file = openSync(path, 'r');
  readSync(file, bytes);
  closeSync(file);
  const at = (offset: number) => bytes.readDoubleLE(REGION_HEADER_BYTES + offset);
  return {
    id: bytes.toString('hex', REGION_FILE.boot, REGION_FILE.boot + 16),
    shiftUs: at(REGION_TIME.shiftUs),
    wallUs: at(REGION_TIME.wallUs),
    lastUs: at(REGION_TIME.lastUs),
  };
}

describe('after a restart of the machine', () => {
  test('limiters of each kind and 100,000 keys are as if it had not been', async () => {
    const path = hostPath();
    const before = await boot({ ...FIRST, path, job: 'fill' });
    expect(before.error).toBeUndefined();
    // Both clocks are others, and the wall clock says that 25 s passed, less at most 1 ms.
    const second = { id: 'b', systemUs: 60e6, wallMs: FIRST.wallMs + 25_000 };
    const found = await boot({ ...second, path, job: 'compare', afterReboot: 'keep' });
    expect(found.shiftUs).toBe(FIRST.systemUs + 25e6 - 1000 - second.systemUs);
    expect(found.differences).toEqual([]);
    expect(found.states?.slice(0, 9)).not.toEqual(before.states?.slice(0, 9));
    expect(found.recovered).toBe(5);
    expect(found.states).toContain('semaphore 5 of 5, waiting 0');
    console.log(`opened in ${found.openMs?.toFixed(1)} ms`);
    // From then on, the region is one of this start.
    const later = await boot({ ...second, path, systemUs: 61e6, job: 'open' });
    expect(later).toMatchObject({ shiftUs: found.shiftUs });
  });

  // docs/host.md: "It takes no longer than opening, however many keys there are"
  test('taking a region over touches neither limiters nor keys', async () => {
    const path = hostPath();
    await boot({ ...FIRST, path, job: 'fill' });
    const before = readFileSync(path);
    const second = { id: 'b', systemUs: 60e6, wallMs: FIRST.wallMs + 25_000 };
    await boot({ ...second, path, job: 'open', afterReboot: 'keep' });
    const now = readFileSync(path);
    const changed: number[] = [];
    for (let at = 0; at < now.length; at += LINE_BYTES) {
      const [line, was] = [now, before].map((bytes) => bytes.subarray(at, at + LINE_BYTES));
      if (was === undefined || line?.equals(was) !== true) changed.push(at);
    }
    expect(changed.length).toBeGreaterThan(0);
    // The header, the entries of processes, and what comes back from the process that ended. The
    // keys alone are 50,000 lines.
    expect(changed.length).toBeLessThan(100);
  });

  test('without afterReboot, the region is refused, and stays as it was', async () => {
    const path = hostPath();
    await boot({ ...FIRST, path, job: 'open' });
    const before = readFileSync(path);
    const { error } = await boot({ ...FIRST, path, id: 'b', job: 'open' });
    expect(error).toBe(
      `${path} was created before this machine's last start, or on another machine: remove it, or ` +
        "open it with afterReboot: 'keep'",
    );
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  // docs/host.md: "The time of a region never goes back"
  test('a wall clock that was set back does not move the time back', async () => {
    const path = hostPath();
    await boot({ ...FIRST, path, job: 'fill' });
    const set = { id: 'b', systemUs: 60e6, wallMs: FIRST.wallMs - HOUR_MS };
    const found = await boot({ ...set, path, job: 'compare', afterReboot: 'keep' });
    expect((found.shiftUs ?? 0) + set.systemUs).toBe(FIRST.systemUs);
    expect(found.differences).toEqual([]);
  });

  test('of many processes that open at once, one takes the region over', async () => {
    const path = hostPath();
    await boot({ ...FIRST, path, job: 'open' });
    const processes = await startProcesses('rebooted', 6);
    const found = await Promise.all(
      processes.map((child, i) =>
        ask<Found>(child, {
          ...{ path, id: 'b', systemUs: 60e6, job: 'open', afterReboot: 'keep' },
          wallMs: FIRST.wallMs + 1000 * (i + 1), // so that each would set another time
        } satisfies Boot),
      ),
    );
    expect(found.map(({ error }) => error)).toEqual(Array(6).fill(undefined));
    expect(new Set(found.map(({ shiftUs }) => shiftUs)).size).toBe(1);
  });

  test('a region that a process of another machine has open is refused', async () => {
    const path = hostPath();
    const child = await startProcess('rebooted');
    await ask<Found>(child, { ...FIRST, path, job: 'open' } satisfies Boot);
    const { error } = await boot({ ...FIRST, path, id: 'b', job: 'open', afterReboot: 'keep' });
    expect(error).toBe(`${path} is open in a process of another machine, or of another boot`);
  });
});

test(`SIGKILL while it is taken over: once, or not yet (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const path = hostPath();
  await boot({ ...FIRST, path, job: 'fill' });
  const [states, kills] = [{ taken: 0, not: 0, half: 0 }, part(50, 12)];
  let { wallMs } = FIRST;
  for (let kill = 0; kill < kills; kill++) {
    const before = timeIn(path);
    const id = (kill % 15).toString(16);
    if (before.id.startsWith(id)) continue;
    const systemUs = random.below(1e9);
    wallMs += random.below(10_000);
    const child = fork(compiled('rebooted'), { execArgv: [] });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'message');
    const exit = once(child, 'exit');
    const deadlyWrite = [1, -1, 2, -2, 0][kill % 5] ?? 0;
    child.send({ path, id, systemUs, wallMs, deadlyWrite, afterReboot: 'keep', job: 'open' });
    if (deadlyWrite === 0) {
      await after(random.below(40));
      child.kill('SIGKILL');
    }
    await exit;
    const found = timeIn(path);
    const timeUs = Math.max(wallMs * 1000 - before.wallUs, before.lastUs);
    const isTaken = found.id === id.repeat(32);
    expect([found.id, found.shiftUs]).toEqual(
      isTaken || found.shiftUs !== before.shiftUs
        ? [isTaken ? found.id : before.id, timeUs - systemUs]
        : [before.id, before.shiftUs],
    );
    states[isTaken ? 'taken' : found.shiftUs === before.shiftUs ? 'not' : 'half']++;
  }
  expect(Math.min(...Object.values(states))).toBeGreaterThan(0);
  console.log(states);
  const last = { id: 'f', systemUs: 5e6, wallMs: wallMs + 1000 };
  const found = await boot({ ...last, path, job: 'compare', afterReboot: 'keep' });
  expect(found.error).toBeUndefined();
  expect(found.differences).toEqual([]);
});
