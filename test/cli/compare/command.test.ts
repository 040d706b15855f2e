import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { compareSides, sideOf } from '../../../src/cli/compare/comparison.ts';
import { readRun } from '../../../src/cli/compare/recorded-run.ts';
import { renderSummary } from '../../../src/cli/compare/summary.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import { Tally } from '../../../src/load/measure/tally.ts';
import { FITNESS as fitness, OPTIONS as options } from '../support/load-result.ts';
import { chartsIn } from '../support/pages.ts';
import { expectError } from '../support/run-in-process.ts';
import { compare, type Recorded, RunFolder, row } from './recorded-runs.ts';

const runs = new RunFolder();

const BASE = runs.record('base.json');
const SAME = runs.record('same.json');
const SLOWER = runs.record('slower.json', { factor: 1.2 });
const FASTER = runs.record('faster.json', { factor: 0.8 });
const FAILING = runs.record('failing.json', { failures: 100 });

describe('zerotime compare', () => {
  it('sees no difference between equal runs', async () => {
    const { code, stdout } = await compare(BASE, SAME, '--max-slower', '5%');
    expect(code).toBe(0);
    expect(stdout).toMatch(/Verdict +✔ no difference seen\n/);
    expect(row(stdout, 'p99')).toMatch(/1\.99 ms +1\.99 ms +0\.00 % .* no difference seen$/);
    expect(row(stdout, 'max')).toMatch(/too few requests or runs +not judged$/);
    expect(row(stdout, 'errors')).toMatch(/0 % +0 % +0\.00 pt/);
  });

  it('reads a run from standard input', async () => {
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(
      Readable.from([readFileSync(SLOWER)]) as never,
    );
    const { code, stdout } = await compare(BASE, '-');
    expect(code).toBe(0);
    expect(stdout).toContain('Compared    -\n  Verdict     ✘ slower: p50, p90, p99\n');
  });

  it('says by how much each figure differs, with what confidence, and what that assumes', async () => {
    const { code, stdout } = await compare(BASE, SLOWER, FASTER);
    expect(code).toBe(0);
    expect(stdout).toContain(`Compared    ${SLOWER}\n  Verdict     ✘ slower: p50, p90, p99\n`);
    expect(stdout).toContain(`Compared    ${FASTER}\n  Verdict     ✔ faster: p50, p90, p99\n`);
    expect(row(stdout, 'p90')).toMatch(
      /1\.90 ms +2\.28 ms +\+19\.9 % +\+1\d\.\d % to \+2\d\.\d % +slower$/,
    );
    expect(stdout).toContain('They ignore slower changes and variation between runs');
  });

  it('takes several runs of a side together', async () => {
    const more = [1.01, 0.99].map((factor, at) => runs.record(`base${at}.json`, { factor }));
    const slower = [1.19, 1.21].map((factor, at) => runs.record(`slow${at}.json`, { factor }));
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
    const little = runs.record('little.json', { factor: 1.04 });
    const { code, stdout } = await compare(BASE, little, '--max-slower', '5%');
    expect(code).toBe(0);
    expect(stdout).toMatch(/✘ slower: p50/);
    expect(stdout).toMatch(/p50.* may still be slower by more than 5 %: use longer runs/);
    expect((await compare(BASE, SLOWER, '--max-slower', '5%')).code).toBe(3);
    expect((await compare(BASE, FASTER, '--max-slower', '5%')).code).toBe(0);
  });

  it('has gates for the rate and for errors', async () => {
    const half = { sent: 1_000, achievedRate: 1_000, admittedPer100Ms: new Array(10).fill(100) };
    const rare = runs.record('rare.json', { change: half });
    const rate = await compare(BASE, rare, '--max-slower', '10%');
    expect(rate.code).toBe(3);
    expect(rate.stdout).toMatch(/✘ gate failed: rate lower: -50\.0 %/);
    const errors = await compare(BASE, FAILING, '--max-more-errors', '1%');
    expect(errors.code).toBe(3);
    expect(errors.stdout).toMatch(/gate failed: errors more: \+5\.00 pt .*beyond --max-more-e/);
    expect((await compare(BASE, FAILING, '--max-more-errors', '10%')).code).toBe(0);
  });

  it('does not pass a gate for want of requests', async () => {
    const empty = runs.record('empty.json', { change: { tally: new Tally() } });
    const { code, stdout } = await compare(
      ...[empty, empty, '--max-slower', '5%', '--max-more-errors', '1%'],
    );
    expect(code).toBe(3);
    expect(stdout).toContain('too few requests to judge any latency');
    expect(stdout).toContain('there was no request to judge');
  });

  it('does not take runs whose requests all failed for fast ones', async () => {
    const down = ['1', '2'].map((name) =>
      runs.record(`down${name}.json`, { change: { tally: new Tally() } }),
    );
    const { code, stdout } = await compare(BASE, SAME, 'vs', ...down, '--max-slower', '5%');
    expect(code).toBe(3);
    expect(stdout).toContain('too few requests to judge any latency');
    expect(row(stdout, 'p99')).toMatch(/not judged$/);
    expect(stdout).not.toContain('faster');
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
    const path = runs.at('page.html');
    await compare(BASE, SAME, 'vs', SLOWER, '--report', path, '--max-slower', '5%');
    const page = readFileSync(path, 'utf8');
    expect(page).toContain('<section class="verdict bad">');
    expect(page).toContain('gate failed: p50 slower');
    const charts = chartsIn(page);
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
    const named = (path: string) => sideOf([{ ...readRun(path), path: path.slice(-9) }]);
    const comparison = compareSides(
      ['base.json', 'slower.json'].map((name) => named(runs.at(name))),
      { maxSlower: 0.05 },
      new Set(),
    );
    const lines = renderSummary(comparison, PLAIN, 60);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
    expect(lines.join('\n')).toMatch(/p50 +1\.50 ms +1\.80 ms +\+19\.9 %\n +\+1.* %: slower\n/);
  });
});

describe('zerotime compare', () => {
  it('refuses runs of different things unless that is allowed, and says what differs', async () => {
    const other = runs.record('other.json', {
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
    const page = runs.at('differs.html');
    await compare(BASE, other, '--allow', 'url,rate,threads,duration', '--report', page);
    const text = readFileSync(page, 'utf8');
    const [differs, verdict] = ['<p class="note">Differs: url: http', '<p class="good">'];
    expect(text.indexOf(differs)).toBeGreaterThan(text.indexOf('<section class="verdict'));
    expect(text.indexOf(differs)).toBeLessThan(text.indexOf(verdict));
  });

  it('omits figures only where a side differs from the baseline', async () => {
    const fast = runs.record('fast.json', { change: { options: { ...options, rate: 3_000 } } });
    const json = runs.at('sides.json');
    await compare(BASE, SAME, fast, '--allow', 'rate', '--json', json);
    const { compared, allowed } = JSON.parse(readFileSync(json, 'utf8'));
    const names = compared.map(({ figures }: { figures: { name: string }[] }) =>
      figures.map(({ name }) => name).filter((name) => name === 'max' || name === 'rate'),
    );
    expect(names).toEqual([['max', 'rate'], []]);
    expect(allowed).toEqual([
      `rate: 2000 in ${BASE}, ${SAME}; 3000 in ${fast}; not compared: max, rate`,
    ]);
  });

  it('compares runs that sent other tokens, and says so', async () => {
    const [one = '', two = ''] = ['a', 'b'].map((token) =>
      runs.record(`token-${token}.json`, {
        change: { options: { ...options, headers: [['Authorization', `Bearer ${token}`]] } },
      }),
    );
    const { code, stdout } = await compare(one, two);
    expect(code).toBe(0);
    expect(stdout).toMatch(/secret headers: hash:[0-9a-f]{8} in/);
  });

  it('draws the maximum over time if a run is too short for p99', async () => {
    const short = runs.record('short.json', {
      edit: (data) => {
        const slots = data['latencyByTime'] as object[];
        data['latencyByTime'] = slots.map((slot) => ({ ...slot, p99Ms: null }));
      },
    });
    const page = runs.at('short.html');
    const titleOf = async (...files: string[]) => {
      await compare(...files, '--report', page);
      return /(?:p99|Maximum) from due to answered, by due time/.exec(
        readFileSync(page, 'utf8'),
      )?.[0];
    };
    expect(await titleOf(BASE, SAME)).toBe('p99 from due to answered, by due time');
    expect(await titleOf(BASE, short)).toBe('Maximum from due to answered, by due time');
  });

  const ofTask = (data: Record<string, unknown>) => {
    data['url'] = 'file:///task.mjs';
    data['options'] = { ...(data['options'] as object), request: null, concurrency: 64 };
  };
  it.each<[string, (run: number) => Recorded, differs: string | RegExp]>([
    [
      'arrivals at random, whatever their seeds',
      (seed) => ({ change: { options: { ...options, arrivals: { kind: 'poisson', seed } } } }),
      'arrivals: {"kind":"even"}',
    ],
    [
      'runs of embedded servers, whatever their ports',
      (port) => ({
        change: { url: `http://127.0.0.1:${port}/`, options: { ...options, url: undefined } },
      }),
      /url: http:\/\/example\.com\/ in /,
    ],
    [
      'calls of a task',
      () => ({ edit: ofTask }),
      /http:\/\/example\.com\/ in .*file:\/\/\/task\.mjs/,
    ],
  ])('compares %s, but not with others', async (_, recorded, differs) => {
    const [one = '', two = ''] = [1, 2].map((run) => runs.record(`${run}.json`, recorded(run)));
    expect((await compare(one, two)).code).toBe(0);
    expect((await compare(BASE, two)).stderr).toMatch(differs);
  });

  it('tells what to mind: other versions, machines, and runs that measured badly', async () => {
    const odd = runs.record('odd.json', {
      change: {
        elapsedMs: 500,
        fitness: { ...fitness, fit: false, limits: [{ kind: 'samples', count: 3 }] },
      },
      edit: (data) => {
        data['node'] = 'v26.0.0';
        data['machine'] = { processor: 'Some processor', processors: 4 };
        data['latencyByTime'] = undefined;
        data['latencyDesignEffects'] = undefined;
        data['guarantee'] = { held: false };
      },
    });
    const { stdout } = await compare(BASE, odd);
    expect(stdout).toContain(`Node.js: ${process.version} in ${BASE}; v26.0.0 in ${odd}`);
    expect(stdout).toMatch(/machine: .*; Some processor, 4 in /);
    expect(stdout).toContain('the guarantee was broken; ended after 500 ms of 1000; not fit to');
    expect(stdout).toContain('older version: its requests are taken for independent');
    expect(stdout).toContain('not fit to measure: 3 responses are too few for p99');
  });

  it('says that a file does not name its version of Node.js', async () => {
    const old = runs.record('unnamed.json', { edit: (data) => delete data['node'] });
    const { stdout } = await compare(BASE, old);
    expect(stdout).toContain(`Node.js: ${process.version} in ${BASE}; none in ${old}`);
  });

  it('reads a file that begins with a byte order mark and has the line ends of Windows', async () => {
    const text = JSON.stringify(JSON.parse(readFileSync(BASE, 'utf8')), undefined, 2);
    const marked = runs.write('marked.json', `\ufeff${text.replaceAll('\n', '\r\n')}`);
    expect(await compare(BASE, marked)).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([
    [[BASE], /give at least two files/],
    [[BASE, 'vs'], /at least one on each side of vs, got \S*base\S*json vs/i],
    [[BASE, runs.at('missing.json')], /missing\.json cannot be read as JSON: ENOENT/],
    [[BASE, runs.write('text.json', 'no JSON')], /text\.json cannot be read as JSON/],
    [[BASE, runs.write('list.json', '[]')], /list\.json is not a result .*: run must be an object/],
    [
      [BASE, runs.write('half.json', '{"calls":{}}')],
      /half\.json is not a result .*options must be an object/,
    ],
    [[BASE, SAME, '--allow', 'url,'], /comma-separated list of names/],
    [[BASE, SAME, '--max-slower', '5'], /share from 0% to 100%/],
  ])('%j ends with what is wrong', (args, text) => expectError(['compare', ...args], text));

  it.each([
    ['calls', 5],
    ['admittedPer100Ms', ['a']],
    ['elapsedMs', '5'],
    ['calls', { sent: 5, succeeded: -1, failed: 6 }, 'calls.succeeded must be a number at least 0'],
    ['fitness', { limits: 'x' }, 'fitness.limits must be a list'],
    ['fitness', { limits: [null] }, 'fitness.limits.0 must be an object'],
    ['times', { latency: { hdrHistogram: 5 } }],
    ['times', { latency: { hdrHistogram: 'x' } }, 'times.latency.hdrHistogram must be'],
  ])('names the file whose %s is %j', async (name, value, rule = name) => {
    const path = runs.record('wrong.json', {
      edit: (data) => {
        data[name] = value;
      },
    });
    const message = `${path} is not a result of zerotime load --json: ${rule}`;
    await expectError(['compare', BASE, path], message);
  });
});
