import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RECEIVER = `${ROOT}test/docs/programs/tracing-receiver.mjs`;
const WORKERS = 4;
const SPANS = 2500;
const RATE = 100;
const BURST = 400;
const MADE = WORKERS * SPANS;
/** One in 20 spans is a refund. */
const SHARES: Readonly<Record<string, number>> = { order: 0.95, refund: 0.05 };
/** Beyond this many standard errors, it is no chance. */
const ERRORS = 6;

async function count(...setUp: string[]): Promise<string> {
  const env = {
    ...process.env,
    ...{ WORKERS: `${WORKERS}`, SPANS: `${SPANS}` },
    ...{ ZEROTIME_TRACES_PER_SECOND: `${RATE}`, ZEROTIME_TRACES_BURST: `${BURST}` },
  };
  const args = [RECEIVER, ...setUp];
  return (await promisify(execFile)(process.execPath, args, { cwd: ROOT, env })).stdout;
}

test.each([
  ['with a file of its own', []],
  ['with zerotime/opentelemetry/register', ['zerotime/opentelemetry/register']],
])('four workers export spans that can be counted, set up %s', async (_, setUp) => {
  const printed = await count(...setUp);
  const lines = [
    ...printed.matchAll(
      /^(\w+): (\d+) kept, (\d+) uncounted, stand for ([\d.]+) with a standard error of ([\d.]+)$/gm,
    ),
  ];
  expect(lines.map(([, name]) => name)).toEqual(['order', 'refund']);
  // All operations have the same probability. The errors of rare ones are too few to go by.
  const variance = lines.reduce((sum, [, , , , , error]) => sum + Number(error) ** 2, 0);
  for (const [, name = '', , uncounted, stoodFor] of lines) {
    // Spans are refused only if the threads stalled; the next spans are marked as uncounted.
    if (Number(uncounted) > 0) continue;
    const share = SHARES[name] ?? 0;
    const off = Math.abs(Number(stoodFor) - MADE * share);
    expect(off, printed).toBeLessThanOrEqual(ERRORS * Math.sqrt(variance * share));
  }
  const [, made, kept, seconds] = /^(\d+) made; (\d+) kept in ([\d.]+) s/m.exec(printed) ?? [];
  expect(Number(made)).toBe(MADE);
  expect(Number(kept)).toBe(lines.reduce((sum, [, , each]) => sum + Number(each), 0));
  // A span begins a little later than the sampler decided on it.
  expect(Number(kept)).toBeLessThanOrEqual(BURST + RATE * (Number(seconds) + 1));
  // The sampler keeps its bucket half full.
  expect(Number(kept)).toBeGreaterThanOrEqual(BURST / 4);
});
