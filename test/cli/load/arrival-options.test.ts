import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { commandWithOptions, type Given } from '../../../src/cli/load/options.ts';
import { bodyOf, planOf, readInput } from '../../../src/cli/load/plan.ts';
import { arrivalText } from '../../../src/cli/load/summary.ts';
import { parseBody } from '../../../src/cli/values.ts';
import { folderOfFile, written } from '../../support/folders.ts';
import { errorCount, NO_GATES, readJsonResult } from '../support/load-runs.ts';
import { expectError, runInProcess } from '../support/run-in-process.ts';

const folder = folderOfFile();

function file(name: string, ...lines: (string | number)[]): string {
  return written(folder, name, lines.join('\n'));
}

const LIST = file('list', '7.5', '7.501', '7.501', '7.7');
const BACK = file('back', '7.5', '7.7', '7.6');
const EVEN = { rate: 2_000, durationMs: 10_000 };

/** What the arrivals of these arguments say about a run. */
async function terms(...args: string[]) {
  const command = commandWithOptions();
  command.parse(args, { from: 'user' });
  const given = command.opts<Given>();
  const plan = planOf(undefined, given, await readInput(given, command), command);
  const { rate, durationMs, arrivals } = plan;
  return { rate, durationMs, arrivals };
}

describe('--arrivals', () => {
  it('leaves requests evenly spaced by default', async () => {
    expect(await terms()).toEqual({ ...EVEN, arrivals: undefined });
    expect(await terms('--arrivals', 'even')).toEqual({ ...EVEN, arrivals: undefined });
    expect(arrivalText({ kind: 'even' })).toEqual([]);
  });

  it('poisson takes a seed, or draws one and says which', async () => {
    const seeded = await terms('--arrivals', 'poisson', '--seed', '7');
    expect(seeded).toEqual({ ...EVEN, arrivals: { kind: 'poisson', seed: 7 } });
    expect(arrivalText({ kind: 'poisson', seed: 7 })).toEqual([
      'arrivals at random; repeat with --seed 7',
    ]);
    const { arrivals } = await terms('--arrivals', 'poisson');
    expect(arrivals).toMatchObject({ kind: 'poisson', seed: expect.any(Number) });
  });

  it('a file says when, how many and for how long', async () => {
    const { arrivals, rate, durationMs } = await terms('--arrivals', LIST);
    if (arrivals?.kind !== 'listed') throw new Error('not the arrivals of a file');
    expect([...arrivals.instantsUs].map(Math.round)).toEqual([0, 1_000, 1_000, 200_000]);
    expect(durationMs).toBe(201);
    expect(rate).toBeCloseTo(4 / 0.201, 9);
    expect(arrivalText({ kind: 'listed', name: LIST })).toEqual([`arrivals as listed in ${LIST}`]);
    expect(await terms('--arrivals', LIST, '--warmup', '0')).toMatchObject({ durationMs: 201 });
    const cut = await terms('--arrivals', LIST, '--duration', '100ms');
    expect(cut).toMatchObject({ rate: 30, durationMs: 100 });
  });

  it('a file is played to its end with npm start, which adds no options', async () => {
    const { scripts } = JSON.parse(
      readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
    );
    const own = scripts.start.split(' load')[1].split(' ').slice(1);
    expect(await terms(...own, '--arrivals', file('long', 1, 9))).toMatchObject({
      durationMs: 8_001,
    });
  });

  it('moves lines out of order to the latest instant before them, and says so', async () => {
    const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const { arrivals } = await terms('--arrivals', BACK);
    if (arrivals?.kind !== 'listed') throw new Error('not the arrivals of a file');
    expect([...arrivals.instantsUs].map(Math.round)).toEqual([0, 200_000, 200_000]);
    expect(stderr.mock.calls.join('')).toMatch(/^1 line of .*back out of order, moved/);
    stderr.mockRestore();
  });

  it('reads a file of many lines', async () => {
    const many = file('many', ...Array.from({ length: 10_000 }, (_, at) => `1.${10_000 + at}`));
    const { arrivals } = await terms('--arrivals', many);
    expect(arrivals).toMatchObject({ instantsUs: { length: 10_000 } });
  });

  it.each([
    [['--arrivals', '/no/such/file'], /even, poisson, - or the path of a readable file/],
    [['--arrivals', '.'], /even, poisson, - or the path of a readable file/],
    [['--seed', '1'], /--seed needs --arrivals poisson/],
    [['--arrivals', LIST, '--seed', '1'], /--seed needs --arrivals poisson/],
    [['--arrivals', 'poisson', '--burst', '2'], /--burst cannot be used with --arrivals poisson/],
    [['--arrivals', LIST, '--burst', '2'], /--burst cannot be used with --arrivals FILE/],
    [['--arrivals', LIST, '--rate', '2'], /--rate cannot be used with --arrivals FILE/],
    [['--arrivals', LIST, '--ramp', '1:2:3s'], /--ramp cannot be used with --arrivals FILE/],
    [['--ramp', '1:2:3s', '--burst', '2'], /--burst <number>' cannot be used with option '--ramp/],
    [['--arrivals', LIST, '--warmup', '2s'], /--warmup cannot be used with --arrivals FILE/],
    [
      ['http://localhost:1', '--arrivals', 'poisson', '--redis', 'redis://a'],
      /--redis cannot be used with --arrivals poisson/,
    ],
    [['--arrivals', 'poisson', '--processes', '2'], /--processes needs --arrivals even/],
    // Even arrivals are the default, also where they are named: something else is wrong here.
    [
      ['--arrivals', 'even', '--processes', '2', '--connections', '1', '-t', '1'],
      /--connections must be at least/,
    ],
    [['--arrivals', '-', '--body', '@-'], /--arrivals - cannot be used with --body @-/],
    [['--arrivals', file('empty')], /empty has no line with a valid instant/],
    [
      ['--arrivals', file('odd', '1', 'x')],
      /1 line of .*odd has no valid instant, first line 2: "x"/,
    ],
    [
      ['--arrivals', file('words', 'x', 'y')],
      /2 lines of .*words have no valid instant, first line 1: "x"/,
    ],
    [['--arrivals', file('odder', '1', 'x', 'y')], /2 lines of .*odder have .*, first line 2: "x"/],
    [['--arrivals', file('far', '1', '1e1', '99999999999')], /line \d is \d+ days after/],
  ])('%j is an error that says what contradicts what', (args, message) =>
    expectError(['load', ...args], message),
  );
});

it('a body can come from standard input', async () => {
  const stdin = Readable.from([Buffer.from('a '), Buffer.from('body')]);
  expect(String(await bodyOf(parseBody('@-'), stdin))).toBe('a body');
  expect(String(await bodyOf(parseBody('text'), stdin))).toBe('text');
  expect(await bodyOf(undefined, stdin)).toBeUndefined();
});

/** A busy machine may miss the rate. */
const BRIEF = ['-t', '2', ...NO_GATES];

describe('a load', () => {
  it.each([
    ['at random', ['--arrivals', 'poisson', '--seed', '7', '-r', '400', '-d', '250ms'], 100],
    ['as listed', ['--arrivals', LIST], 4],
    ['as listed out of order', ['--arrivals', BACK], 3],
    ['of HTTP/2', ['--http2', '-r', '400', '-d', '250ms'], 100],
  ])('%s sends each request of its schedule once', async (_how, args, count) => {
    const path = join(folder, 'result.json');
    const { stdout, stderr } = await runInProcess(['load', ...BRIEF, ...args, '--json', path]);
    expect(stdout).toMatch(/Guarantee +✔ held/);
    expect(stderr).not.toContain('change the rate');
    const result = readJsonResult(path);
    const { admitted, calls, statusCodes } = result;
    // A busy machine may have no time for the last ones until 250 ms after the end: they are unsent.
    expect(calls.succeeded + errorCount(result, 'unsent')).toBe(admitted);
    expect(statusCodes).toEqual({ 200: calls.succeeded });
    // A slot that no thread takes for a second is lost, and the summary says so.
    const [, lost = 0] = /(\d+) slots? of the schedule (?:was|were) lost/.exec(stdout) ?? [];
    expect(admitted + Number(lost)).toBe(count);
  });
});
