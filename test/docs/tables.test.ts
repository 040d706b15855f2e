import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { jsonOf } from '../../src/cli/load/outcome.ts';
import {
  FixedWindow,
  KeyedTokenBucket,
  LeakyBucket,
  ManualClock,
  Region,
  Semaphore,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  systemClock,
  TokenBucket,
} from '../../src/index.ts';
import { FleetBucket } from '../../src/integrations/redis.ts';
import { closedFigures } from '../../src/load/closed/run-rounds.ts';
import type { FitnessLimit } from '../../src/load/judge/fitness.ts';
import type { Gate } from '../../src/load/judge/gates.ts';
import { checkGuarantee } from '../../src/load/judge/guarantee.ts';
import { resultOf as driveResult } from '../../src/load/judge/result-of.ts';
import { Tally } from '../../src/load/measure/tally.ts';
import type { DriveResult } from '../../src/load.ts';
import * as fleet from '../../src/memory/layout/fleet.ts';
import * as core from '../../src/memory/layout.ts';
import { type Change, FITNESS, OPTIONS, resultOf } from '../cli/support/load-result.ts';

function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

const layout = { ...core, ...fleet };
const page = read('docs/memory-layout.md');
/** The comments with diagrams in the files of the layout, in the page's characters. */
const comment = readdirSync(new URL('../../src/memory/layout', import.meta.url))
  .flatMap((name) => read(`src/memory/layout/${name}`).match(/^\/\*\*$[\s\S]*?^ \*\/$/gm) ?? [])
  .join('\n')
  .replaceAll(/[│║]/g, '|')
  .replaceAll(/^ \*/gm, '');

/** The rows of a table, cell by cell, and the name in code that stands above it. */
interface Table {
  readonly name: string;
  readonly rows: readonly (readonly string[])[];
}

function tablesWith(header: string): Table[] {
  const pattern = new RegExp(`^\\| ${header} \\|.*\\n\\|[-:|]+\\n((?:\\|.*\\n)+)`, 'gm');
  return [...page.matchAll(pattern)].map(({ 1: body = '', index }) => ({
    name: [...page.slice(0, index).matchAll(/^`(\w+)`/gm)].at(-1)?.[1] ?? '',
    rows: body
      .trim()
      .split('\n')
      .map((row) =>
        row
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      ),
  }));
}

const records = tablesWith('Byte');
const rows = records.flatMap(({ name, rows }) =>
  rows.map(([byte, field = '', type = '']) => ({ name, byte: Number(byte), field, type })),
);

/** Records whose offsets count elements, with the bytes of an element. */
const ELEMENT_BYTES: Record<string, number> = { REGION: 4, COUNTER: 8, ENTRY: 8 };

const exported = Object.entries<unknown>(layout);
const offsets = exported.flatMap(([name, value]) => {
  if (typeof value !== 'object' || value === null || name === 'CELL_KINDS') return [];
  return Object.entries<number>({ ...value }).map(
    ([field, at]) => `${name}.${field} at ${at * (ELEMENT_BYTES[name] ?? 1)}`,
  );
});

function bytesOf(type: string): number {
  const [, count = '1', bits] = /^(?:(\d+) x )?[iuf](8|32|64)$/.exec(type) ?? [];
  return (Number(count) * Number(bits)) / 8;
}

/** A diagram's lines of bits, with their blanks evened out. */
function bits(text: string): string[] {
  const lines =
    /^ +((?:word|entry|identity|state|tag|live|permits|waiter|due|count|refusals|place|holding) +\|.*)$/gm;
  return [...text.matchAll(lines)]
    .map(([, line = '']) => line.replaceAll(/ +/g, ' ').trim())
    .filter((line) => !line.includes('i64'));
}

describe('docs/memory-layout.md', () => {
  test('has every field at its offset, and no other', () => {
    expect(offsets.length).toBeGreaterThan(50);
    const shown = rows.map(({ name, byte, field }) => `${name}.${field} at ${byte}`);
    expect(shown.sort()).toEqual(offsets.sort());
  });

  test('has every field with the type that the diagrams of layout.ts show, and no other', () => {
    const drawn = [...comment.matchAll(/(\w+) ((?:\d+ x )?[iuf](?:8|32|64))\b/g)]
      .map(([text]) => text)
      .filter((text) => text !== 'entry i64');
    const shown = rows.filter(({ type }) => type !== '-').map((row) => `${row.field} ${row.type}`);
    expect([...new Set(shown)].sort()).toEqual([...new Set(drawn)].sort());
  });

  // A bucket's fields share the first line with those of every cell.
  test.each([
    ...records.map(({ name }) => [name]),
    ['CELL', 'BUCKET'],
    ['CELL', 'WINDOW'],
    ['CELL', 'SOMETIMES'],
    ['CELL', 'ARRIVALS'],
    ['CELL', 'SEMAPHORE'],
  ])('shows no two fields of %s %s in the same bytes', (...names) => {
    const fields = rows.filter(({ name }) => names.includes(name)).sort((a, b) => a.byte - b.byte);
    let end = 0;
    for (const { byte, type } of fields) {
      expect(byte).toBeGreaterThanOrEqual(end);
      end = type === '-' ? byte : byte + bytesOf(type);
    }
    expect(end).toBeGreaterThan(0);
  });

  test('shows the bits of every word as layout.ts does', () => {
    expect(bits(comment)).toHaveLength(24);
    expect(bits(page).sort()).toEqual(bits(comment).sort());
  });

  test('has every size and number, and no other', () => {
    const sizes = tablesWith('Name').flatMap(({ rows }) => rows);
    const named = exported.filter(
      // Which half of a word is the low one depends on the machine.
      ([name, value]) => ['number', 'function'].includes(typeof value) && !name.endsWith('_HALF'),
    );
    const known = new Map(named);
    const shown = sizes.map(([text = '', number]) => {
      const [, name = '', , args = ''] = /^`(\w+)(\(([\d, ]*)\))?`$/.exec(text) ?? [];
      const value = known.get(name);
      const result = typeof value === 'function' ? value(...args.split(',').map(Number)) : value;
      expect(`${text} ${number}`).toBe(`${text} ${result}`);
      return name;
    });
    expect([...new Set(shown)].sort()).toEqual([...known.keys()].sort());
  });

  test('has every kind of cell, and no other', () => {
    const kinds = tablesWith('Kind').flatMap(({ rows }) => rows);
    const shown = Object.fromEntries(kinds.map(([kind, number]) => [kind, Number(number)]));
    expect(shown).toEqual(layout.CELL_KINDS);
  });
});

const limit = { limit: 5, intervalMs: 10 };
const bucket = { rate: 1, burst: 5 };

describe('the handle that docs/memory-layout.md describes', () => {
  const described = tablesWith('Field').map(
    ({ name, rows }) => [name, rows.map(([field = '']) => field).sort()] as const,
  );
  const fields = new Map(described);

  test.each([
    TokenBucket.create(bucket),
    LeakyBucket.create({ rate: 1 }),
    FixedWindow.create(limit),
    SlidingWindow.create(limit),
    SlidingLog.create(limit),
    KeyedTokenBucket.create({ ...bucket, capacity: 10 }),
    Sometimes.create({}),
    Semaphore.create({ permits: 1 }),
  ])('is that of a limiter: $constructor.name', ({ handle }) => {
    expect(Object.keys(handle).sort()).toEqual(fields.get('LimiterHandle'));
  });

  test('is that of a region', () => {
    expect(Object.keys(Region.create().handle).sort()).toEqual(fields.get('RegionHandle'));
  });

  test('is that of a clock', () => {
    const { handle } = ManualClock.create();
    expect(Object.keys(handle).sort()).toEqual(fields.get('ClockHandle'));
    expect(Object.keys(systemClock.handle)).toEqual(['name']);
  });

  test('is that of a fleet bucket', async () => {
    const source = { consumeOrDrain: async (n: number) => n, returnTokens: async () => undefined };
    const fleet = await FleetBucket.create({ source, stock: 10 });
    expect(Object.keys(fleet.handle).sort()).toEqual(fields.get('FleetHandle'));
    await fleet.close();
  });

  test('is no other', () => {
    const handles = ['LimiterHandle', 'RegionHandle', 'ClockHandle', 'FleetHandle'];
    expect([...fields.keys()]).toEqual(handles);
  });
});

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
