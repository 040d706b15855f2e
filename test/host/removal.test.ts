import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { shownRegion } from '../../src/cli/host/summary.ts';
import { removeRegion } from '../../src/host/removal.ts';
import { BOOT_BYTES, PROCESS_BYTES, REGION, REGION_FILE } from '../../src/memory/layout.ts';
import { hostPath, hostRegion } from '../support/host.ts';

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

test('a file that holds something else is never removed', () => {
  const path = hostPath();
  writeFileSync(path, new Uint8Array(65_536));
  for (const options of [ASKED, FORCED]) {
    expect(() => removeRegion(path, options)).toThrow(`${path} holds no zerotime region`);
  }
  expect(readFileSync(path)).toHaveLength(65_536);
});
