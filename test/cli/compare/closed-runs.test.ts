import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { compareRuns, type RunFigures } from '../../../src/load/judge/comparison.ts';
import { Tally } from '../../../src/load/measure/tally.ts';
import { drive } from '../../../src/load.ts';
import { NO_GATES } from '../../support/load-options.ts';
import { compare, RunFolder } from './recorded-runs.ts';

const runs = new RunFolder();
const task = 'data:text/javascript,export default () => {}';
const gates = NO_GATES;

const EMPTY = new Tally().toRecord().histograms.latency;

interface Recorded {
  readonly rounds: readonly unknown[];
  readonly failed?: number;
  /** Changes the data of the file. */
  readonly edit?: (data: Record<string, unknown>) => void;
}

/** Writes the file of a run with `--rate max`. Returns its path. */
function record(name: string, { rounds, failed = 0, edit }: Recorded): string {
  const data: Record<string, unknown> = {
    zerotime: '9.9.9',
    node: 'v20.0.0',
    machine: { processors: 4 },
    loop: 'closed',
    interrupted: false,
    url: 'file:///task.mjs',
    options: {
      ...{ ratePerSecond: 'max', threads: 2, rounds: rounds.length, durationMs: 1_000 },
      ...{ concurrency: 1, dataBytes: 0, request: null },
    },
    elapsedMs: 1_000,
    calls: { sent: 10_000, succeeded: 10_000 - failed, failed },
    times: { latency: { hdrHistogram: EMPTY } },
    admittedPer100Ms: [],
    closed: { rounds: rounds.map((callsPerSecond) => ({ callsPerSecond })) },
  };
  edit?.(data);
  return runs.write(name, JSON.stringify(data));
}

const BASE = record('base.json', { rounds: [1_000_000, 1_010_000, 990_000] });
const SAME = record('same.json', { rounds: [1_005_000, 995_000, 1_002_000] });
const SLOWER = record('slower.json', { rounds: [800_000, 810_000, 790_000] });

describe('zerotime compare with runs as fast as possible', () => {
  it('compares calls per second with the spread of the rounds, and errors', async () => {
    const { stdout, code } = await compare(BASE, SLOWER);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Verdict +✘ lower: rate\n/);
    expect(stdout).toMatch(/ rate +1,000,000\/s +800,000\/s +-20\.0 % .*lower\n/);
    expect(stdout).toMatch(/ errors +0 % +0 % +0\.00 pt/);
    expect(stdout).not.toMatch(/ p50 | max |request/);
    expect(stdout).toContain('from the spread between the rounds of each run');
    expect(stdout).toContain('up to one comparison in ten');
    expect((await compare(BASE, SAME)).stdout).toMatch(/Verdict +✔ no difference seen\n/);
  });

  it('has gates', async () => {
    const slow = await compare(BASE, SLOWER, '--max-slower', '10%');
    expect(slow.code).toBe(3);
    expect(slow.stdout).toMatch(/✘ gate failed: rate lower: -20\.0 %/);
    expect((await compare(BASE, SAME, '--max-slower', '5%')).code).toBe(0);
    const single = record('single.json', { rounds: [1_000_000] });
    const unknown = await compare(single, single, '--max-slower', '5%');
    expect(unknown.code).toBe(3);
    expect(unknown.stdout).toContain('--max-slower: there are too few rounds to judge the rate');
    expect(unknown.stdout).toMatch(/ rate .* too few calls or runs +not judged\n/);
    const failing = record('failing.json', { rounds: [1e6, 1e6, 1e6], failed: 500 });
    expect((await compare(BASE, failing, '--max-more-errors', '1%')).code).toBe(3);
  });

  it('takes several runs of a side together', async () => {
    const more = record('more.json', { rounds: [1_030_000, 1_020_000, 1_040_000] });
    const { stdout } = await compare(BASE, SAME, 'vs', SLOWER, more);
    expect(stdout).toContain('come from the spread between runs (Welch)');
    // Between runs the sides differ less than within one.
    expect(stdout).toMatch(/Verdict +✔ no difference seen\n/);
  });

  it('writes a page and JSON', async () => {
    const [json, report] = [runs.at('out.json'), runs.at('out.html')];
    await compare(BASE, SLOWER, '--json', json, '--report', report);
    expect(JSON.parse(readFileSync(json, 'utf8')).compared[0].figures).toMatchObject([
      { name: 'rate', unit: 'perSecond', baseline: 1e6, compared: 8e5, finding: 'lower' },
      { name: 'errors' },
    ]);
    const page = readFileSync(report, 'utf8');
    expect(page).toContain('<th>calls</th>');
    expect(page).not.toContain('due to answered');
  });

  it('refuses runs at a rate beside them, and other conditions', async () => {
    const open = runs.record('open.json');
    const { stderr, code } = await compare(BASE, open, '--allow', 'rate');
    expect(code).toBe(1);
    expect(stderr).toContain(`${BASE} is as fast as possible, ${open} at a rate`);
    const other = record('threads.json', {
      rounds: [1, 2, 3],
      edit: (data) => Object.assign(data['options'] as object, { threads: 3 }),
    });
    expect((await compare(BASE, other)).stderr).toContain('threads: 2 in ');
  });

  it('names no figure as not compared that such runs do not have', async () => {
    const longer = record('longer.json', {
      rounds: [1_000_000, 1_010_000, 990_000],
      edit: (data) => Object.assign(data['options'] as object, { durationMs: 2_000 }),
    });
    const { stdout } = await compare(BASE, longer, '--allow', 'duration');
    expect(stdout).toContain('duration: 1000 in ');
    expect(stdout).not.toContain('not compared');
  });

  it.each<[string, (data: Record<string, unknown>) => void, string]>([
    ['no list', (data) => Object.assign(data, { closed: { rounds: 3 } }), 'closed.rounds must be'],
    ['no number', (data) => Object.assign(data, { closed: { rounds: [{}] } }), 'callsPerSecond'],
  ])('names a file whose rounds are %s', async (_, edit, message) => {
    const path = record('wrong.json', { rounds: [1], edit });
    expect((await compare(path, BASE)).stderr).toContain(message);
  });

  it('reads what drive returned, stored as JSON', async () => {
    const [closed, open] = await Promise.all([
      drive({ task, rate: Number.POSITIVE_INFINITY, durationMs: 40, warmupMs: 10, rounds: 4 }),
      drive({ task, rate: 100, durationMs: 200, gates }),
    ]);
    const wantedRatePerSecond = 100.00000000000001;
    const other = { ...open, wantedRatePerSecond, url: 'http://localhost/?token=abc' };
    const paths = [closed, { ...open, interrupted: true }, other].map((result, at) => {
      const path = runs.at(`driven${at}.json`);
      writeFileSync(path, JSON.stringify(result));
      return path;
    });
    const [fast = '', paced = '', elsewhere = ''] = paths;
    expect(await compare(fast, fast)).toMatchObject({ code: 0, stderr: '' });
    const { stdout, code } = await compare(paced, paced);
    expect(code).toBe(0);
    expect(stdout).toMatch(/ p50 /);
    expect(stdout).toContain('ended early');
    expect(stdout).not.toContain('request');
    expect((await compare(fast, BASE)).stderr).toContain('url: ');
    const { stderr } = await compare(paced, elsewhere);
    expect(stderr).toContain('http://localhost/?token=*** in ');
    expect(stderr, 'only rounded differently').not.toContain('rate: ');
  });

  it('refuses what drive returned of different runs, and names each difference', async () => {
    const result = await drive({ task, rate: 100, durationMs: 100, gates });
    const { options } = result;
    expect(options).toEqual({
      ratePerSecond: 100,
      ramp: null,
      burst: 1,
      threads: 1,
      concurrency: 1_000,
      dataBytes: 0,
      request: null,
      rounds: null,
      durationMs: 100,
      timeoutMs: 5_000,
      warmupMs: 0,
    });
    const stored = (name: string, change: Partial<typeof options>) =>
      runs.write(`${name}.json`, JSON.stringify({ ...result, options: { ...options, ...change } }));
    const one = stored('one', {});
    const others = stored('others', { dataBytes: 9 });
    expect((await compare(one, others)).stderr).toContain(`  data: 0 in ${one}; 9 in ${others}`);
    const other = stored('other', {
      ...{ ratePerSecond: 50, threads: 2, durationMs: 99, warmupMs: 5, burst: 3, timeoutMs: 9 },
    });
    const { stdout, stderr, code } = await compare(one, other);
    expect({ stdout, code }).toEqual({ stdout: '', code: 1 });
    const names = ['rate: 100', 'burst: 1', 'threads: 1', 'duration: 100', 'timeout: 5000'];
    for (const name of [...names, 'warmup: 0']) expect(stderr).toContain(`  ${name} in ${one}; `);
    const allowed = await compare(
      one,
      other,
      '--allow',
      'rate,burst,threads,duration,timeout,warmup',
    );
    expect(allowed.code).toBe(0);
    const told = allowed.stdout.indexOf(
      `rate: 100 in ${one}; 50 in ${other}; not compared: max, rate`,
    );
    expect(told).toBeGreaterThan(0);
    expect(told).toBeLessThan(allowed.stdout.indexOf('Verdict'));
    expect(allowed.stdout).toMatch(/ p99 /);
    expect(allowed.stdout).not.toMatch(/^ {2}(max|rate) /m);
    const old = runs.write('old.json', JSON.stringify({ ...result, options: undefined }));
    expect((await compare(one, old)).stderr).toContain(`${old} is not a result of`);
  });
});

it('the interval of a run is that of the mean of its rounds', () => {
  const run = (rates: readonly number[]): RunFigures => {
    const rounds = rates.map((callsPerSecond) => ({
      callsPerSecond,
      nsPerCall: null,
      threads: [],
    }));
    return {
      calls: { sent: 1e9, succeeded: 1e9, failed: 0 },
      elapsedMs: 1_000,
      admittedPer100Ms: [],
      latency: new Tally().histograms.latency,
      closed: { rounds, callsPerSecond: null, nsPerCall: null, processors: 0 },
    };
  };
  const [rate] = compareRuns([run([99, 101, 100, 100])], [run([199, 201, 200, 200])]);
  expect(rate).toMatchObject({ figure: { kind: 'rate' }, baseline: 100, other: 200 });
  expect(rate?.difference.value).toBeCloseTo(1, 9);
  // 3.182 standard errors of 0.408 on each side of 100, and half of that of 200.
  const { low = 0, high = 0 } = rate?.difference.interval ?? {};
  expect(low).toBeGreaterThan(0.96);
  expect(low).toBeLessThan(0.98);
  expect(high).toBeGreaterThan(1.02);
  expect(high).toBeLessThan(1.04);
  const [none] = compareRuns([run([])], [run([])]);
  expect(none?.difference.interval).toBeUndefined();
});
