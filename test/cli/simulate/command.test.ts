import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { progressOn, speed } from '../../../src/cli/simulate/command.ts';
import { renderSummary } from '../../../src/cli/simulate/summary.ts';
import { drawSvg } from '../../../src/cli/simulate/svg.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import { parseLimiter } from '../../../src/simulate/limiter-specs.ts';
import { parsePattern } from '../../../src/simulate/patterns.ts';
import { runSimulation } from '../../../src/simulate/run.ts';
import { parseServer } from '../../../src/simulate/server.ts';
import { folderOfFile, written } from '../../support/folders.ts';
import { chartsIn, titlesIn } from '../support/pages.ts';
import { expectError, runInProcess } from '../support/run-in-process.ts';

const folder = folderOfFile();

const BUCKET = ['simulate', '--limiter', 'token-bucket rate=100 burst=1'];

describe('zerotime simulate', () => {
  it('shows the outcomes of all limiters side by side', async () => {
    const json = join(folder, 'result.json');
    const svg = join(folder, 'result.svg');
    const { code, stdout, stderr } = await runInProcess([
      ...BUCKET,
      ...['--limiter', 'fixed-window limit=30 intervalMs=1000', '--arrivals', 'constant rate=200'],
      ...['--duration', '10s', '--json', json, '--svg', svg],
    ]);
    expect(code).toBe(0);
    expect(stdout).toContain('2,000 in 10 s, 200/s');
    expect(stdout).toMatch(/token-bucket rate=100 burst=1 +1,000 +50\.0 % +1,000 +50\.0 %\n/);
    expect(stdout).toMatch(/fixed-window limit=30 intervalMs=1000 +300 +15\.0 % +1,700 +85\.0 %\n/);
    expect(stderr).toMatch(/10 s simulated in .* times faster\n/);
    const { arrivals, limiters } = JSON.parse(readFileSync(json, 'utf8'));
    expect(arrivals).toMatchObject({ count: 2_000, seed: null });
    expect(limiters).toMatchObject([
      { admittedAtOnce: 1_000, refusedAtOnce: 1_000, waitMs: null, bounds: [{ held: true }] },
      { admittedAtOnce: 300, refusedAtOnce: 1_700, waitMs: null, bounds: [{ held: true }] },
    ]);
    const picture = readFileSync(svg, 'utf8');
    expect(picture.match(/<path class="admitted"/g)?.length).toBe(2);
    expect(picture).toContain('fixed-window limit=30 intervalMs=1000');
  });

  // docs/simulate.md: "The same arguments always print"
  it('repeats a run with the seed that it prints', async () => {
    const args = [...BUCKET, '--arrivals', 'poisson rate=120', '--duration', '5s'];
    const first = await runInProcess(args);
    const [, seed = ''] = /seed (\d+)/.exec(first.stdout) ?? [];
    expect((await runInProcess([...args, '--seed', seed])).stdout).toBe(first.stdout);
    const other = seed === '1' ? '2' : '1';
    expect((await runInProcess([...args, '--seed', other])).stdout).not.toBe(first.stdout);
  });

  it('reads an access log, and reports unreadable lines', async () => {
    const log = join(folder, 'access.log');
    const line = (second: string) => `10.0.0.1 - - [01/Jan/2024:00:00:${second} +0000] "GET /"\n`;
    writeFileSync(log, `${line('10').repeat(200)}no timestamp\n${line('11').repeat(100)}`);
    const none = await runInProcess([...BUCKET, '--file', log, '--wait', '0']);
    expect(none.stdout).toMatch(/Callers +do not wait\n/);
    const { code, stdout } = await runInProcess([...BUCKET, '--file', log, '--wait', '20ms']);
    expect(code).toBe(0);
    expect(stdout).toContain('read as common log format, from 2024-01-01T00:00:10.000Z');
    expect(stdout).toContain('lines without a timestamp, skipped: 1; the first is line ');
    expect(stdout).toMatch(/300 in 1\.99 s/);
  });

  it('moves out-of-order lines to the latest instant before them', async () => {
    const log = written(folder, 'disordered.log', '10\n12\n11\n13\n');
    const { stdout } = await runInProcess([...BUCKET, '--file', log, '--no-spread']);
    expect(stdout).toContain('read as epoch seconds or milliseconds\n');
    expect(stdout).toContain('lines out of order, moved to the latest instant before them: 1');
    expect(stdout).toContain('4 in 3 s, 1.333/s');
  });

  it('shows the waits of the admitted calls, in the summary and on a page', async () => {
    const report = join(folder, 'report.html');
    const json = join(folder, 'waits.json');
    const { stdout } = await runInProcess([
      ...[...BUCKET, '--limiter', 'leaky-bucket rate=1/minute'],
      ...[
        '--arrivals',
        'bursts size=3 everyMs=1000',
        '--duration',
        '10s',
        '--wait',
        '15ms',
        '--json',
        json,
        '--report',
        report,
      ],
    ]);
    // Of three at once, one is admitted, one waits 10 ms, and one would have to wait 20 ms.
    expect(stdout).toMatch(/rate=100 burst=1 +10 +33\.3 % +10 +33\.3 % +10 +33\.3 % .* 10\.0 ms\n/);
    const { limiters } = JSON.parse(readFileSync(json, 'utf8'));
    expect(limiters).toMatchObject([{ waitMs: { max: 10 } }, { waitMs: { max: 0 } }]);
    const page = readFileSync(report, 'utf8');
    expect(page).toContain('<dt>Callers</dt><dd>wait up to 15 ms</dd>');
    // A chart of the rate for each, and one of each kind for the waits of all.
    expect(titlesIn(page)).toEqual([
      expect.stringContaining('token-bucket rate=100 burst=1, each'),
      expect.stringContaining('leaky-bucket rate=1/minute, each'),
      expect.stringContaining('p99 of the waits'),
      'Waits by percentile',
    ]);
    const charts = chartsIn(page);
    const rates = charts.filter(({ title }) => title.includes(', each'));
    const highest = Math.max(
      ...rates.flatMap(({ series }) => series.flatMap(({ values }) => values.map(Number))),
    );
    for (const { top } of rates) expect(top, 'one scale').toBeCloseTo(1.05 * highest, 6);
    const ends = charts.filter(({ over }) => over === 'time').map(({ end }) => end);
    expect(new Set(ends).size, 'one end').toBe(1);
    expect(ends[0]).toBeGreaterThanOrEqual(Math.max(...rates.map(({ x }) => x.at(-1) ?? 0)));
    const [, waits, curve] = charts.slice(1);
    expect(waits?.series.map(({ label }) => label)).toEqual([
      'token-bucket rate=100 burst=1',
      'leaky-bucket rate=1/minute',
    ]);
    expect(curve?.series.map(({ colour }) => colour)).toEqual(['blue', 'orange']);
  });

  it('shows the waits and the responses of one limiter in more detail', async () => {
    const report = join(folder, 'one.html');
    await runInProcess([
      ...['simulate', '--limiter', 'semaphore permits=2', '--server', 'constant serviceMs=20'],
      ...['-a', 'constant rate=80', '-d', '20s', '--wait', '1s', '--report', report],
    ]);
    const page = readFileSync(report, 'utf8');
    expect(titlesIn(page)).toEqual([
      'semaphore permits=2, each 100 ms',
      expect.stringContaining('Waits of admitted callers, by arrival time'),
      'Waits by percentile',
      'Distribution of waits',
      'Response times by percentile',
    ]);
    expect(page).toContain('<p class="good">held: every limiter kept its bound</p>');
  });

  it.each([
    [['simulate', '-a', 'constant rate=1'], /required option '-l, --limiter <limiter>'/],
    [BUCKET, /give --arrivals or --file/],
    [
      [...BUCKET, '--file', written(folder, 'empty.log', 'nothing\nof the kind\n')],
      /has no line with a valid timestamp/,
    ],
    [[...BUCKET, '-a', 'constant rate=1', '-f', '-'], /cannot be used with option/],
    [[...BUCKET, '-a', 'constant'], /--arrivals <pattern>' argument 'constant' is invalid/],
    [[...BUCKET, '-l', 'bucket'], /--limiter <limiter>' argument 'bucket' is invalid/],
    [[...BUCKET, '-f', join(folder, 'missing')], /--file <path>'.*a readable file/],
    [[...BUCKET, '-f', folder], /--file <path>'.*a readable file \(EISDIR: is a directory\)/],
    [[...BUCKET, '-a', 'constant rate=1', '--seed', '-1'], /--seed <number>'.*whole number/],
    [
      [...BUCKET, '-a', 'constant rate=1', '--seed', '1'],
      /--seed needs random arrivals or a random server/,
    ],
    [[...BUCKET, '-a', 'constant rate=1', '--no-spread'], /--no-spread needs --file/],
    [[...BUCKET, '-a', 'constant rate=1', '--svg', folder], /--svg <file>'.*a writable file/],
    [[...BUCKET, '-a', 'constant rate=1', '--wait', 'long'], /--wait <time>'.*a duration/],
  ])('%j ends with what is wrong', expectError);
});

const LIMITERS = ['token-bucket rate=100 burst=20', 'leaky-bucket rate=100'];

/** The summary of callers that wait, which has the widest table. */
async function summaryOf(columns?: number): Promise<string[]> {
  const limiters = LIMITERS.map(parseLimiter);
  const arrivals = parsePattern('constant rate=120');
  const result = await runSimulation({
    ...{ limiters, arrivals, duration: 2_000, spread: true, wait: 100 },
  });
  return renderSummary(result, PLAIN, columns);
}

it('a narrow terminal gets a block for each limiter', async () => {
  const lines = await summaryOf(60);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
  for (const limiter of LIMITERS) {
    const at = lines.indexOf(`  ${limiter}`);
    expect(at).toBeGreaterThan(0);
    const block = lines.slice(at + 1, at + 8);
    expect(block.map((line) => line.slice(4, 18).trim())).toEqual([
      'at once',
      'later',
      'refused',
      'gave up',
      'wait p50',
      'p99',
      'longest',
    ]);
    expect(new Set(block.map(({ length }) => length)).size).toBe(1);
  }
});

it('without a terminal the table is whole', async () => {
  const lines = await summaryOf();
  const head = lines.find((line) => line.startsWith('  Limiter')) ?? '';
  expect(head).toMatch(/at once +later +refused +gave up +wait p50 +p99 +longest$/);
});

it('a simulation of billions of arrivals says how long it will take', () => {
  const said: string[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      said.push(String(chunk));
      done();
    },
  });
  let ms = 0;
  const progress = progressOn(stream, () => ms);
  for (ms = 0; ms <= 12_000; ms += 500) progress(ms / 2e7);
  expect(said).toEqual([
    '0.1 % simulated, about 5 h 33 min 19 s left; Ctrl-C ends it\n',
    '0.1 % simulated, about 5 h 33 min 9 s left; Ctrl-C ends it\n',
  ]);
});

it('says how fast it was, if it took less time than it simulates', () => {
  expect(speed(10_000, 20)).toBe('10 s simulated in 20 ms, 500 times faster');
  expect(speed(1, 500)).toBe('1 ms simulated in 500 ms');
});

it('a short simulation says nothing', () => {
  const stream = new Writable({ write: () => expect.unreachable() });
  let ms = 0;
  const progress = progressOn(stream, () => ms);
  for (ms = 0; ms <= 5_500; ms += 500) progress(ms / 5_500);
});

async function picture(limiter: string, pattern: string, duration: number): Promise<string> {
  const arrivals = parsePattern(pattern);
  const limiters = [parseLimiter(limiter)];
  return drawSvg(await runSimulation({ limiters, arrivals, duration, spread: true, seed: 7 }));
}

/** The labels of the time axis. */
function times(svg: string): string[] {
  return [...svg.matchAll(/text-anchor="(?:start|middle|end)">([^<]*[a-z0])<\/text>/g)]
    .map(([, text = '']) => text)
    .filter((text) => !text.includes('/s'));
}

it.each([
  [1_500, ['0', '500 ms', '1 s']],
  [10_000, ['0', '2 s', '4 s', '6 s', '8 s', '10 s']],
  [3_600_000, ['0', '10 min', '20 min', '30 min', '40 min', '50 min', '1 h']],
])('the axis of %d ms has few labels that read well', async (duration, told) => {
  expect(times(await picture('leaky-bucket rate=10', 'constant rate=10', duration))).toEqual(told);
});

it('the axis of many days has steps of whole days', async () => {
  const svg = await picture('leaky-bucket rate=1', 'constant rate=0.001', 20 * 86_400_000);
  expect(times(svg).length).toBeLessThan(10);
  expect(times(svg)).toContain('72 h');
});

it('a near bound is a line, a distant one is stated as text', async () => {
  const near = await picture('leaky-bucket rate=10', 'constant rate=10', 10_000);
  expect(near).toMatch(/<path class="bound" d="M72,[\d.]+H740">/);
  const far = await picture('leaky-bucket rate=1000', 'constant rate=10', 10_000);
  expect(far).not.toMatch(/<path class="bound" d="M72/);
  expect(far).toMatch(/>bound: [\d,.]+\/s in /);
});

it('the seed is shown for random arrivals, and text is escaped', async () => {
  const svg = await picture('leaky-bucket rate=10', 'poisson rate=20', 2_000);
  expect(svg).toContain('poisson rate=20, seed 7</text>');
  expect(svg).not.toContain('NaN');
  const arrivals = { ...parsePattern('constant rate=1'), text: 'a < b & c' };
  const limiters = [parseLimiter('leaky-bucket rate=10')];
  const odd = await runSimulation({ limiters, arrivals, duration: 2_000, spread: true });
  expect(drawSvg(odd)).toContain('<title>a &lt; b &amp; c: arrivals');
});

it('a picture without arrivals is valid', async () => {
  const svg = await picture('leaky-bucket rate=10', 'constant rate=0.01', 1_000);
  expect(svg).not.toMatch(/NaN|Infinity/);
  expect(await picture('leaky-bucket rate=10', 'poisson rate=0.001', 1)).not.toContain('NaN');
});

it('a picture of a log with one line, which takes no time, is valid', async () => {
  const file = written(folder, 'one.log', '1000\n');
  const limiters = [parseLimiter('semaphore adapt=gradient max=50')];
  const server = parseServer('constant serviceMs=10');
  const result = await runSimulation({ limiters, file, server, spread: true });
  expect(result.durationMs).toBe(0);
  expect(drawSvg(result)).not.toContain('NaN');
});

it('a semaphore that adapts is drawn by its course, beside those that do not', async () => {
  const limiters = [
    'semaphore adapt=gradient max=50',
    'semaphore permits=8',
    'semaphore permits=5000',
  ].map(parseLimiter);
  const arrivals = parsePattern('poisson rate=900');
  const server = parseServer('exponential serviceMs=10 capacity=8');
  const run = { limiters, arrivals, server, duration: 20_000, spread: true, seed: 7 };
  const svg = drawSvg(await runSimulation(run));
  const lines = [...svg.matchAll(/class="course" stroke="(#\w+)" d="M\d+[^"]*L/g)];
  expect(lines.map(([, colour]) => colour)).toHaveLength(9);
  expect(new Set(lines.map(([, colour]) => colour)).size).toBe(3);
  for (const title of ['Permits', 'p99 of the response times', 'Responses']) {
    expect(svg).toContain(`>${title}</text>`);
  }
  expect(svg).not.toMatch(/NaN|Infinity|>admitted/);
  const [fixed] = limiters.slice(1);
  const without = drawSvg(await runSimulation({ ...run, limiters: fixed ? [fixed] : [] }));
  expect(without).toContain('>admitted</text>');
  expect(without).not.toContain('>Permits</text>');
});
