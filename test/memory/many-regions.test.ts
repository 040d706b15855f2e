import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { compiled } from '../support/crew.ts';
import { part } from '../support/random.ts';
import type { ManyRegions } from '../workers/region-probe.ts';

const run = promisify(execFile);
/** As many as a thread gets with memory for WebAssembly. A process has addresses for 12,800. */
const MOST = 1000;

test.each([
  { kind: 'regions', count: part(100_000, 2_000) },
  { kind: 'buckets', count: part(100_000, 2_000) },
  { kind: 'tables', count: part(10_000) },
])(
  '$count $kind live at once, and addresses for others remain',
  async ({ kind, count }) => {
    const script = fileURLToPath(compiled('region-probe'));
    const { stdout } = await run(process.execPath, [script, kind, `${count}`]);
    console.log(`${count} ${kind}: ${stdout.trim()}`);
    const report = JSON.parse(stdout) as ManyRegions;
    expect(report).toMatchObject({ regions: count, wrong: 0, hasRoom: true });
    expect(report.ofWebAssembly).toBe(MOST);
  },
  600_000,
);
