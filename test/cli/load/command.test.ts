import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { folderOfFile } from '../../support/folders.ts';
import { NO_GATES, readJsonResult } from '../support/load-runs.ts';
import { interruptedOn, runInProcess } from '../support/run-in-process.ts';

// Runs the command in the test's process, so that the test can send the signals.

const folder = folderOfFile();

const BRIEF = [...NO_GATES, '--rate', '100', '--threads', '2', '--duration', '1200ms'];

it('a load shows its progress and its result, and writes the result to a file', async () => {
  const path = join(folder, 'result.json');
  const { stdout, stderr, code } = await runInProcess(['load', ...BRIEF, '--json', path]);
  expect(code).toBe(0);
  expect(stderr).toMatch(/at 100\/s for 1\.2 s, by 2 threads that share one limiter; Ctrl-C ends/);
  expect(stderr).toMatch(/1 s +\d+ requests {2}/);
  expect(stdout).toMatch(/Guarantee +✔ held/);
  const { exitCode, admitted, calls } = readJsonResult(path);
  expect(exitCode).toBe(0);
  expect(calls.sent).toBe(admitted);
});

it('--json - leaves standard output to the result, and --hgrm is read by HdrHistogram', async () => {
  const hgrm = join(folder, 'latency.hgrm');
  const args = ['load', ...NO_GATES, '--rate', '100', '-t', '1', '-d', '300ms', '--hgrm', hgrm];
  const { stdout, stderr, code } = await runInProcess([...args, '--json', '-']);
  expect(code).toBe(0);
  const { admitted, times, commandLine, latencyByTime } = JSON.parse(stdout);
  expect(stderr).toMatch(/Guarantee +✔ held/);
  expect(commandLine).toMatch(/^zerotime/);
  expect(latencyByTime[0].count).toBeGreaterThan(0);
  const lines = readFileSync(hgrm, 'utf8').trimEnd().split('\n');
  expect(lines[0]?.trim().split(/\s+/)).toEqual([
    'Value',
    'Percentile',
    'TotalCount',
    '1/(1-Percentile)',
  ]);
  const points = lines.slice(2, -3).map((line) => line.trim().split(/\s+/).map(Number));
  expect(points.at(-1)?.slice(1)).toEqual([1, admitted]);
  // In milliseconds, as in the JSON.
  expect(lines.at(-2)).toMatch(/^#\[Max +=/);
  expect(Number(/Max += +([\d.]+)/.exec(lines.at(-2) ?? '')?.[1])).toBeCloseTo(
    times.latency.ms.max,
    2,
  );
});

it('a load that fails a gate says so and exits with 3', async () => {
  const gates = ['--max-p50', '1us', '--max-errors', '1%', '--min-rate', '1%'];
  const { stdout, code } = await runInProcess(['load', ...BRIEF, ...gates]);
  expect(code).toBe(3);
  expect(stdout.match(/✘ gate failed/g)).toHaveLength(1);
  expect(stdout).toMatch(/✘ gate failed: p50 was .* ms, wanted at most 0.001 ms/);
});

it('a warm-up appears in the summary, and in no figure', async () => {
  const path = join(folder, 'warm.json');
  const brief = ['--rate', '100', '-t', '1', '-d', '200ms', '--warmup', '200ms'];
  const { stdout } = await runInProcess(['load', ...brief, '--json', path]);
  expect(stdout).toMatch(/after a warm-up of \d+ requests\n/);
  const { admitted, admittedPer100Ms, calls } = readJsonResult(path);
  expect(admitted).toBeLessThanOrEqual(20);
  expect(admittedPer100Ms).toHaveLength(2);
  expect(calls.sent).toBe(admitted);
});

it.each([
  ['stopped before the first request', []],
  ['stopped during the warm-up', ['--warmup', '1h']],
])('an interrupt before any request counts exits with 130: %s', async (reason, more) => {
  const args = ['load', '--rate', '0.5', '-t', '1', '-d', '1h', ...more];
  const { stdout, stderr, code } = await interruptedOn('Ctrl-C ends it', args);
  expect(code).toBe(130);
  expect(stderr).toContain(`error: ${reason}\n`);
  expect(stdout).toBe('');
});

it('an interrupt before the first request is reported, and exits with 130', async () => {
  const json = join(folder, 'none.json');
  const loading = runInProcess(['load', '--rate', '100', '-d', '1h', '--json', json]);
  // Like a signal, which also comes between two turns of the event loop.
  await setImmediate();
  process.emit('SIGTERM');
  const { stdout, stderr, code } = await loading;
  expect(code).toBe(130);
  expect(stderr).toContain('stopped before the first request');
  expect(stdout).toBe('');
  expect(existsSync(json)).toBe(false);
});
