import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { jsonOf } from '../../src/cli/load/outcome.ts';
import { closedFigures } from '../../src/load/closed/run-rounds.ts';
import type { FitnessLimit } from '../../src/load/judge/fitness.ts';
import type { Gate } from '../../src/load/judge/gates.ts';
import { checkGuarantee } from '../../src/load/judge/guarantee.ts';
import { resultOf as driveResult } from '../../src/load/judge/result-of.ts';
import { Tally } from '../../src/load/measure/tally.ts';
import type { DriveResult } from '../../src/load.ts';
import { type Change, FITNESS, OPTIONS, resultOf } from '../cli/support/load-result.ts';

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
    .replace(/^statusCodes\..*/, 'statusCodes.*')
    .replace(/^latencyDesignEffects\..*/, 'latencyDesignEffects.*')
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
const [options, fitness] = [OPTIONS, FITNESS];
const guarantee = checkGuarantee(Float64Array.of(0, 1e6), 1, 1);
const task = { url: 'file:///task.mjs', data: undefined, concurrency: 5 };

/** A run whose result has all numbers that a run at a rate may have. */
function results(): DriveResult[] {
  const tally = new Tally(0);
  tally.countStatus(200);
  tally.countStatus(503, 0);
  tally.countError('timed out', 'too late');
  tally.countBlocked(2e5);
  for (let at = 0; at < 500; at++) tally.recordLatency(at, 450);
  const limits: readonly FitnessLimit[] = [
    { kind: 'lateness', lateMs: 1, latencyMs: 1 },
    { kind: 'connections', queuedMs: 1, latencyMs: 1, connections: 1, threads: 1, sessions: 1 },
    { kind: 'event loop', busy: 1 },
    { kind: 'processors', machine: 1, own: 1 },
    { kind: 'samples', count: 1 },
  ];
  const change: Change = {
    tally,
    options: { ...options, ramp: { from: 1, to: 2, overMs: 3 } },
    gates: GATES.map((gate) => ({ gate, passed: true, actual: 0.5 })),
    fitness: { ...fitness, limits },
    guarantee: { ...guarantee, scheduled: { admitted: 5, strays: 0 } },
    wantedRangePerSecond: [1, 2],
  };
  const instantsUs = Float64Array.of(0, 1);
  const listed = { kind: 'listed', name: 'list', instantsUs } as const;
  return [
    resultOf(change),
    resultOf({ options: { ...options, arrivals: { kind: 'poisson', seed: 1 } } }),
    resultOf({ options: { ...options, arrivals: listed, task } }),
  ];
}

/** What the file of a run with `--rate max` contains. */
function closed(): unknown {
  const tally = new Tally(undefined, 'ns');
  tally.record('response', 5, 10);
  tally.countError('Error', 'odd');
  const counters = Object.assign(tally.counters, { sent: 10, succeeded: 9, failed: 1 });
  const result = driveResult({
    options: {
      ...options,
      task,
      rate: Number.POSITIVE_INFINITY,
      rounds: 1,
      gates: GATES.slice(0, 2),
    },
    url: task.url,
    startedAt: new Date(0),
    interrupted: false,
    warmUp: counters,
    elapsedMs: 1,
    admitted: 10,
    tally,
    threads: [{ admitted: 10, counters, crash: undefined }],
    closed: closedFigures([[{ counters, elapsedUs: 50 }]], 0.5),
  });
  return jsonOf(result);
}

test('the page has every number of a result of load --json, and no other', () => {
  const files = [...results().map((result) => jsonOf(result)), closed()];
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
