import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { renderSummary } from '../../../src/cli/load/summary.ts';
import { limitText, verdictLines } from '../../../src/cli/load/verdict.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import { parseTarget } from '../../../src/cli/values.ts';
import { Tally } from '../../../src/load/measure/tally.ts';
import type { DriveResult } from '../../../src/load.ts';
import { readJsonResult } from '../support/json-result.ts';
import { type Change, OPTIONS, resultOf } from '../support/load-result.ts';
import { runInProcess } from '../support/run-in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'zerotime-task-'));
afterAll(() => rmSync(folder, { recursive: true }));

const path = join(folder, 'task.mjs');
writeFileSync(
  path,
  `export default ({ sequence }) => { if (sequence === 1) throw new RangeError('odd'); };`,
);

/** A result of calls. */
function callsOf(change: Change = {}): DriveResult {
  const task = { url: 'file:///task.mjs', data: undefined, concurrency: 5 };
  return resultOf({ ...change, options: { ...OPTIONS, task } });
}

const text = (result: DriveResult) => renderSummary(result, PLAIN).join('\n');

it('zerotime load calls a module, and speaks of calls', async () => {
  const json = join(folder, 'result.json');
  const report = join(folder, 'report.html');
  const args = ['load', path, '--rate', '100', '-t', '1', '-d', '200ms', '--min-rate', '0%'];
  const files = ['--json', json, '--report', report];
  const { stdout, stderr, code } = await runInProcess([...args, '--max-errors', '100%', ...files]);
  expect(stderr).toContain(`${path} at 100/s`);
  expect(stdout).toMatch(/ calls in 200 ms/);
  expect(stdout).toMatch(/Calls +succeeded +\d/);
  expect(stdout).toMatch(/started → done/);
  expect(stdout).toMatch(/RangeError +1 .*odd/);
  expect(stdout).not.toMatch(/request|respon|connection/i);
  expect(code).toBe(0);
  const result = readJsonResult(json) as unknown as Record<string, unknown>;
  expect(result).toMatchObject({
    url: expect.stringMatching(/^file:.*task\.mjs$/),
    calls: { sent: result['admitted'], failed: 1 },
    threads: [{ calls: { failed: 1 } }],
    blocked: { calls: expect.any(Number) },
    options: { burst: 1, request: null, concurrency: 1_000 },
  });
  expect(result).not.toHaveProperty('requests');
});

it.each([
  [[path, '--method', 'PUT'], '--method cannot be used with a module'],
  [[path, '--redis', 'redis://localhost'], 'with a module, --redis needs --redis-key'],
  [['http://localhost/', '--concurrency', '3'], '--concurrency needs a module'],
  [[path, '--concurrency', '0'], 'a whole number from 1 to 1000000'],
  [['./none.mjs'], 'It must be the path of a module that exists.'],
  [['file://elsewhere/none.mjs'], 'It must be the path of a module that exists.'],
  [['./none'], 'It must be an absolute URL'],
])('%j is an error', async (args, message) => {
  const { stderr, code } = await runInProcess(['load', ...args]);
  expect(stderr).toContain(message);
  expect(code).toBe(1);
});

it('takes paths and file: URLs for modules, and http URLs for servers', () => {
  expect(parseTarget(path)).toBe(`file://${path}`);
  expect(parseTarget(`file://${path}`)).toBe(`file://${path}`);
  expect(parseTarget('http://localhost/app.js')).toBe('http://localhost/app.js');
});

describe('the summary of calls', () => {
  it('names what calls blocked, and why they were not started', () => {
    const tally = new Tally();
    tally.countBlocked(2e6);
    const one = callsOf({ tally, sent: 1_000 });
    expect(text(one)).toContain('Blocked     1 call blocked a thread, for up to 2.00 s');
    expect(text(one)).toContain('1,000 calls were not started in time:');
    expect(text(callsOf({ sent: 1_999 }))).toContain('1 call was not started in time:');
    expect(text(one)).toContain('unknown: there was no call');
    expect(text(one)).toMatch(/Calls +none/);
    expect(verdictLines(callsOf({ sent: 1_000 }))[0]?.text).toContain(
      'limited by the task or --concurrency',
    );
    tally.countBlocked(1e6);
    expect(text(callsOf({ tally, sent: 1_000 }))).toContain('2 calls blocked');
  });

  it('says that its own limits are those of calls', () => {
    const busy = { queuedMs: 2, latencyMs: 3, connections: 10, threads: 1 };
    expect(limitText({ kind: 'connections', ...busy }, 'calls')).toMatch(
      /^all 10 calls of --concurrency were in flight in 1 thread, for 2.00 ms at p99/,
    );
    expect(limitText({ kind: 'samples', count: 7 }, 'calls')).toBe('7 calls are too few for p99');
  });
});
