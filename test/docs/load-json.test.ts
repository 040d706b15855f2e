import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { writeClosedJson } from '../../src/cli/load/closed-json.ts';
import { jsonReport } from '../../src/cli/load/json-report.ts';
import { closedResult } from '../../src/load/api/closed-result.ts';
import { Samples } from '../../src/load/closed/samples.ts';
import type { Gate } from '../../src/load/gates.ts';
import type { LoadResult } from '../../src/load/result.ts';
import { ABOUT, resultOf } from '../cli/support/load-result.ts';

const folder = mkdtempSync(join(tmpdir(), 'zerotime-load-json-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The fields of the tables, with their units. */
const PAGE = readFileSync(new URL('../../docs/load.md', import.meta.url), 'utf8');
const SECTION =
  PAGE.split(/^#{2,3} /m).find((text) => text.startsWith('The fields of --json')) ?? '';
const DOCUMENTED = new Map(
  [...SECTION.matchAll(/^\| ((?:`[^`]+`(?:, )?)+) \| ([^|]*?) *\|/gm)].flatMap(
    ([, names = '', unit = '']) =>
      [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => [name, unit] as const),
  ),
);

/** Names that depend on the run, as the page writes them. */
function pathOf(path: string): string {
  return path
    .replace(/\bcalls\.(sent|succeeded|failed)$/, 'requests.$1')
    .replace(/^statusCodes\..*/, 'statusCodes.*')
    .replace(/^times\.\w+\./, 'times.*.')
    .replace(/^times\.\*\.ms\..*/, 'times.*.ms.*');
}

/** The paths of all numbers in this data. */
function numbersIn(value: unknown, path = ''): string[] {
  if (typeof value === 'number') return [pathOf(path)];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((one) => numbersIn(one, `${path}[]`));
  return Object.entries(value).flatMap(([name, one]) =>
    numbersIn(one, path === '' ? name : `${path}.${name}`),
  );
}

const GATES: readonly Gate[] = [
  { kind: 'latency', percentile: 99, maxMs: 20 },
  { kind: 'errors', maxShare: 0.1 },
  { kind: 'rate', minShare: 0.9 },
];
const { options, fitness, guarantee, tally } = resultOf();
const task = { url: 'file:///task.mjs', data: undefined, concurrency: 5 };

/** A run whose result has all numbers that a run at a rate may have. */
function results(): LoadResult[] {
  tally.countStatus(503);
  tally.countError('timed out', 'too late');
  tally.countBlocked(2e5);
  for (let at = 0; at < 500; at++) tally.recordLatency(at, 450);
  const limits: LoadResult['fitness']['limits'] = [
    { kind: 'lateness', lateMs: 1, latencyMs: 1 },
    { kind: 'connections', queuedMs: 1, latencyMs: 1, connections: 1, sessions: 1 },
    { kind: 'event loop', busy: 1 },
    { kind: 'processors', machine: 1, own: 1 },
    { kind: 'samples', count: 1 },
  ];
  const full = resultOf({
    tally,
    options: { ...options, ramp: { from: 1, to: 2, overMs: 3 } },
    gates: GATES.map((gate) => ({ gate, passed: true, actual: 0.5 })),
    fitness: { ...fitness, limits },
    guarantee: { ...guarantee, scheduled: { admitted: 5, strays: 0 } },
  });
  const instantsUs = Float64Array.of(0, 1);
  const listed = { kind: 'listed', name: 'list', instantsUs } as const;
  return [
    full,
    resultOf({ options: { ...options, arrivals: { kind: 'poisson', seed: 1 } } }),
    resultOf({ options: { ...options, arrivals: listed, task } }),
  ];
}

/** What the file of a run with `--rate max` contains. */
function closed(): unknown {
  const samples = new Samples();
  samples.record(50, 10);
  const counters = { sent: 10, succeeded: 9, failed: 1 };
  const record = {
    errors: [{ kind: 'Error', count: 1, example: 'odd' }],
    histogram: samples.toRecord(),
  };
  const run = {
    startedAt: new Date(0),
    interrupted: false,
    warmUp: counters,
    rounds: [[{ counters, elapsedUs: 50 }]],
    threads: [{ crash: undefined, record }],
    processors: { machine: 0.5, own: 0.5 },
  };
  const terms = { task, threads: 1, durationMs: 1, rounds: 1, warmupMs: 0, timeoutMs: 1 };
  const path = join(folder, 'closed.json');
  const result = closedResult(run, terms, GATES.slice(0, 2));
  writeClosedJson(path, result, terms, ABOUT, 0);
  return JSON.parse(readFileSync(path, 'utf8'));
}

test('the page has every number of a result of load --json, and no other', () => {
  const files = [...results().map((result) => jsonReport(result, ABOUT)), closed()];
  const written = new Set(files.flatMap((file) => numbersIn(JSON.parse(JSON.stringify(file)))));
  expect([...DOCUMENTED.keys()].sort()).toEqual([...written].sort());
});

const UNITS: readonly [RegExp, string][] = [
  [/Ms$|Ms\.\w+$|\.ms\.\*$/, 'ms'],
  [/PerSecond(\.\w+)?$/, '1/s'],
  [/Bytes$/, 'bytes'],
  [/nsPerCall(\.\w+)?$/, 'ns'],
  [/[sS]hare$/, 'share'],
];

test('each has the unit that its name contains', () => {
  for (const [path, unit] of DOCUMENTED) {
    const name = path.split('.').slice(-2).join('.');
    const wanted = UNITS.find(([pattern]) => pattern.test(name))?.[1];
    if (wanted !== undefined) expect([path, unit]).toEqual([path, wanted]);
  }
});
