import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { LineChart } from '../../../src/cli/report/page.ts';
import { resultOf } from '../support/load-result.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { recordRun } from './recorded-runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'zerotime-compare-'));
afterAll(() => rmSync(folder, { recursive: true }));

const BASE = recordRun(folder, 'base.json');
const SAME = recordRun(folder, 'same.json');
const SLOWER = recordRun(folder, 'slower.json', { factor: 1.2 });
const FASTER = recordRun(folder, 'faster.json', { factor: 0.8 });
const FAILING = recordRun(folder, 'failing.json', { failures: 100 });
const { options, fitness } = resultOf();

const compare = (...args: string[]) => runInProcess(['compare', ...args]);

/** The line of a figure in the table. */
function row(stdout: string, name: string): string {
  return stdout.split('\n').find((line) => line.startsWith(`  ${name} `)) ?? '';
}

describe('zerotime compare', () => {
  it('sees no difference between equal runs', async () => {
    const { code, stdout } = await compare(BASE, SAME, '--max-slower', '5%');
    expect(code).toBe(0);
    expect(stdout).toMatch(/Verdict +✔ no difference seen\n/);
    expect(row(stdout, 'p99')).toMatch(/1\.99 ms +1\.99 ms +0\.00 % .* no difference seen$/);
    expect(row(stdout, 'max')).toMatch(/too few requests or runs +not judged$/);
    expect(row(stdout, 'errors')).toMatch(/0 % +0 % +0\.00 pt/);
  });

  it('says by how much each figure differs, with what confidence, and what that assumes', async () => {
    const { code, stdout } = await compare(BASE, SLOWER, FASTER);
    expect(code).toBe(0);
    expect(stdout).toContain(`Compared    ${SLOWER}\n  Verdict     ✘ slower: p50, p90, p99\n`);
    expect(stdout).toContain(`Compared    ${FASTER}\n  Verdict     ✔ faster: p50, p90, p99\n`);
    expect(row(stdout, 'p90')).toMatch(
      /1\.90 ms +2\.28 ms +\+19\.9 % +\+1\d\.\d % to \+2\d\.\d % +slower$/,
    );
    expect(stdout).toContain('assume that requests are independent');
  });

  it('takes several runs of a side together', async () => {
    const more = [1.01, 0.99].map((factor, at) => recordRun(folder, `base${at}.json`, { factor }));
    const slower = [1.19, 1.21].map((factor, at) =>
      recordRun(folder, `slow${at}.json`, { factor }),
    );
    const { code, stdout } = await compare(
      ...[BASE, ...more, 'vs', SLOWER, ...slower, '--max-slower', '10%'],
    );
    expect(code).toBe(3);
    expect(stdout).toContain(`Baseline    ${BASE} and 2 more\n`);
    expect(stdout).toMatch(/✘ gate failed: p50 slower: \+\d+\.\d % \(\+1.*\), beyond --max-slow/);
    expect(row(stdout, 'max')).toMatch(/slower$/);
    expect(stdout).toContain('come from the spread between runs (Welch)');
    const single = await compare(BASE, ...more, 'vs', SLOWER);
    expect(single.stdout).toContain('A side with a single run is assumed to vary as much');
  });

  it('fails a gate only if the difference is more than chance, and says what it could not see', async () => {
    const little = recordRun(folder, 'little.json', { factor: 1.04 });
    const { code, stdout } = await compare(BASE, little, '--max-slower', '5%');
    expect(code).toBe(0);
    expect(stdout).toMatch(/✘ slower: p50/);
    expect(stdout).toMatch(/p50.* may still be slower by more than 5 %: use longer runs/);
    expect((await compare(BASE, SLOWER, '--max-slower', '5%')).code).toBe(3);
    expect((await compare(BASE, FASTER, '--max-slower', '5%')).code).toBe(0);
  });

  it('has gates for the rate and for errors', async () => {
    const half = { sent: 1_000, achievedRate: 1_000, admittedPer100Ms: new Array(10).fill(100) };
    const rare = recordRun(folder, 'rare.json', { change: half });
    const rate = await compare(BASE, rare, '--max-slower', '10%');
    expect(rate.code).toBe(3);
    expect(rate.stdout).toMatch(/✘ gate failed: rate lower: -50\.0 %/);
    const errors = await compare(BASE, FAILING, '--max-more-errors', '1%');
    expect(errors.code).toBe(3);
    expect(errors.stdout).toMatch(/gate failed: errors more: \+5\.00 pt .*beyond --max-more-e/);
    expect((await compare(BASE, FAILING, '--max-more-errors', '10%')).code).toBe(0);
  });

  it('does not pass a gate for want of requests', async () => {
    const empty = recordRun(folder, 'empty.json', {
      change: { tally: new (await import('../../../src/load/tally.ts')).Tally() },
    });
    const { code, stdout } = await compare(
      ...[empty, empty, '--max-slower', '5%', '--max-more-errors', '1%'],
    );
    expect(code).toBe(3);
    expect(stdout).toContain('too few requests to judge any latency');
    expect(stdout).toContain('there was no request to judge');
  });

  it('does not take runs whose requests all failed for fast ones', async () => {
    const { Tally } = await import('../../../src/load/tally.ts');
    const down = ['1', '2'].map((name) =>
      recordRun(folder, `down${name}.json`, { change: { tally: new Tally() } }),
    );
    const { code, stdout } = await compare(BASE, SAME, 'vs', ...down, '--max-slower', '5%');
    expect(code).toBe(3);
    expect(stdout).toContain('too few requests to judge any latency');
    expect(row(stdout, 'p99')).toMatch(/not judged$/);
    expect(stdout).not.toContain('faster');
  });

  it('compares arrivals at random, whatever their seeds, with no others', async () => {
    const [one = '', two = ''] = [1, 2].map((seed) =>
      recordRun(folder, `seed${seed}.json`, {
        change: { options: { ...options, arrivals: { kind: 'poisson', seed } } },
      }),
    );
    expect((await compare(one, two)).code).toBe(0);
    expect((await compare(BASE, two)).stderr).toContain('arrivals: {"kind":"even"}');
  });

  it('refuses runs of different things unless that is allowed, and says what differs', async () => {
    const other = recordRun(folder, 'other.json', {
      change: {
        url: 'http://elsewhere/',
        options: { ...options, rate: 3_000, threads: 4, durationMs: 2_000 },
      },
    });
    const { code, stdout, stderr } = await compare(BASE, other);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`url: http://example.com/ in ${BASE}; http://elsewhere/ in ${other}`);
    for (const name of ['rate: 2000', 'threads: 2', 'duration: 1000']) {
      expect(stderr).toContain(`  ${name} in ${BASE}`);
    }
    expect(stderr).toContain('--allow url,rate,threads,duration');
    const some = await compare(BASE, other, '--allow', 'url,rate');
    expect(some.code).toBe(1);
    expect(some.stderr).not.toContain('url:');
    const all = await compare(BASE, other, '--allow', 'url,rate,threads,duration');
    expect(all.code).toBe(0);
    expect(all.stdout).toMatch(/Differs +url: http/);
    const page = join(folder, 'differs.html');
    await compare(BASE, other, '--allow', 'url,rate,threads,duration', '--report', page);
    const text = readFileSync(page, 'utf8');
    const [differs, verdict] = ['<p class="note">Differs: url: http', '<p class="good">'];
    expect(text.indexOf(differs)).toBeGreaterThan(text.indexOf('<section class="verdict'));
    expect(text.indexOf(differs)).toBeLessThan(text.indexOf(verdict));
  });

  it('compares runs of embedded servers, whatever their ports', async () => {
    const [one, two] = ['1', '2'].map((port) =>
      recordRun(folder, `port${port}.json`, {
        change: { url: `http://127.0.0.1:${port}/`, options: { ...options, url: undefined } },
      }),
    );
    expect((await compare(one ?? '', two ?? '')).code).toBe(0);
  });

  it('compares calls of a task as well', async () => {
    const [one = '', two = ''] = ['1', '2'].map((name) =>
      recordRun(folder, `calls${name}.json`, {
        edit: (data) => {
          data['calls'] = data['requests'];
          data['requests'] = undefined;
          data['target'] = { task: 'file:///task.mjs', concurrency: 64 };
        },
      }),
    );
    expect((await compare(one, two)).code).toBe(0);
    expect((await compare(BASE, two)).stderr).toContain(`task: none in ${BASE}; file:///task.mjs`);
  });

  it('tells what to mind: other versions, machines, and runs that measured badly', async () => {
    const odd = recordRun(folder, 'odd.json', {
      change: {
        elapsedMs: 500,
        fitness: { ...fitness, fit: false, limits: [{ kind: 'samples', count: 3 }] },
      },
      edit: (data) => {
        data['node'] = 'v26.0.0';
        data['machine'] = undefined;
        data['latencyByTime'] = undefined;
        data['guarantee'] = { held: false };
      },
    });
    const { stdout } = await compare(BASE, odd);
    expect(stdout).toContain(`Node.js: v20.0.0 in ${BASE}; v26.0.0 in ${odd}`);
    expect(stdout).toMatch(/machine: Some processor, 4, /);
    expect(stdout).toContain('the guarantee was broken; ended after 500 ms of 1000; not fit to');
    expect(stdout).toContain('not fit to measure: 3 responses are too few for p99');
  });

  it('writes all of it as data, alone on standard output', async () => {
    const { stdout, stderr } = await compare(BASE, SLOWER, '--json', '-', '--max-slower', '5%');
    const { baseline, compared } = JSON.parse(stdout);
    expect(baseline).toEqual([BASE]);
    expect(compared[0].files).toEqual([SLOWER]);
    expect(compared[0].failedGates).toHaveLength(3);
    expect(compared[0].figures.map(({ name }: { name: string }) => name)).toEqual([
      'p50',
      'p90',
      'p99',
      'p99.9',
      'max',
      'rate',
      'errors',
    ]);
    expect(compared[0].figures[0]).toMatchObject({ unit: 'ms', finding: 'slower' });
    expect(compared[0].figures[0].change).toBeCloseTo(0.2, 2);
    expect(stderr).toContain('Verdict');
  });

  it('draws all runs on one page', async () => {
    const path = join(folder, 'page.html');
    await compare(BASE, SAME, 'vs', SLOWER, '--report', path, '--max-slower', '5%');
    const page = readFileSync(path, 'utf8');
    expect(page).toContain('<section class="verdict bad">');
    expect(page).toContain('gate failed: p50 slower');
    const [, data = '[]'] = /id="charts">(.*)<\/script>/.exec(page) ?? [];
    const charts: LineChart[] = JSON.parse(data);
    expect(charts.map(({ over }) => over)).toEqual(['time', 'percentile']);
    for (const { series } of charts) {
      expect(series.map(({ label, colour }) => [label, colour])).toEqual([
        [BASE, 'blue'],
        [SAME, 'blue'],
        [SLOWER, 'orange'],
      ]);
    }
    expect(page).toMatch(/<td data-name="change">\+20\.0 %<\/td>/);
  });

  it('fits 60 columns', async () => {
    const { PLAIN } = await import('../../../src/cli/format.ts');
    const { compareSides } = await import('../../../src/cli/compare/comparison.ts');
    const { readRun } = await import('../../../src/cli/compare/recorded-run.ts');
    const { sideOf } = await import('../../../src/cli/compare/sides.ts');
    const { renderSummary } = await import('../../../src/cli/compare/summary.ts');
    const named = (path: string) => sideOf([{ ...readRun(path), path: path.slice(-9) }]);
    const comparison = compareSides(
      ['base.json', 'slower.json'].map((name) => named(join(folder, name))),
      { maxSlower: 0.05 },
      new Set(),
    );
    const lines = renderSummary(comparison, PLAIN, 60);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
    expect(lines.join('\n')).toMatch(/p50 +1\.50 ms +1\.80 ms +\+19\.9 %\n +\+1.* %: slower\n/);
  });

  const brokenFile = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  it.each([
    [[BASE], /give at least two files/],
    [[BASE, 'vs'], /at least one on each side of vs/],
    [[BASE, join(folder, 'missing.json')], /missing\.json cannot be read as JSON: ENOENT/],
    [[BASE, brokenFile('text.json', 'no JSON')], /text\.json cannot be read as JSON/],
    [[BASE, brokenFile('list.json', '[]')], /list\.json is not a result .*: run must be an object/],
    [
      [BASE, brokenFile('half.json', '{"requests":{}}')],
      /half\.json is not a result .*times must be/,
    ],
    [[BASE, SAME, '--allow', 'url,'], /comma-separated list of names/],
    [[BASE, SAME, '--max-slower', '5'], /share from 0% to 100%/],
  ])('%j ends with what is wrong', async (args, text) => {
    const { code, stdout, stderr } = await compare(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(text);
  });

  it.each([
    ['requests', 5],
    ['admittedPer100Ms', ['a']],
    ['elapsedMs', '5'],
    ['times', { latency: { hdrHistogram: 5 } }],
    ['times', { latency: { hdrHistogram: 'x' } }],
  ])('names the file whose %s is %j', async (name, value) => {
    const path = recordRun(folder, 'wrong.json', {
      edit: (data) => {
        data[name] = value;
      },
    });
    const { code, stderr } = await compare(BASE, path);
    expect(code).toBe(1);
    expect(stderr).toContain(`${path} is not a result of zerotime load --json: `);
  });
});
