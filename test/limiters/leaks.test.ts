import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { compiled } from '../support/crew.ts';
import { part } from '../support/random.ts';
import type { Leaked } from '../workers/leak-probe.ts';

const run = promisify(execFile);
const MIB = 2 ** 20;

async function leaked(kind: string, count: number): Promise<Leaked> {
  const script = fileURLToPath(compiled('leak-probe'));
  const args = ['--expose-gc', script, kind, `${count}`];
  const { stdout } = await run(process.execPath, args);
  console.log(`${count} ${kind}: ${stdout.trim()}`);
  return JSON.parse(stdout) as Leaked;
}

// Measure the second half only: caches and pools reach their size in the first.
test.each([
  { kind: 'waits', count: part(100_000) },
  { kind: 'limiters', count: part(10_000) },
  { kind: 'workers', count: part(100, 20) },
])(
  '$count $kind leave nothing behind',
  async ({ kind, count }) => {
    const { half, whole } = await leaked(kind, count);
    expect(whole.heapBytes - half.heapBytes).toBeLessThan(MIB);
    // The pipe to the test, and handles that the last thread is still closing.
    expect(whole.timersAndHandles).toBeLessThan(5);
    expect(whole.listeners).toBe(0);
    // A WebAssembly.Memory reserves 10 GiB of addresses, so one leak in a hundred would show.
    expect(whole.virtualBytes - half.virtualBytes).toBeLessThan(512 * 1024 * MIB);
    expect(whole.residentBytes - half.residentBytes).toBeLessThan(64 * MIB);
  },
  600_000,
);
