import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { progressOn } from '../../../src/cli/simulate/command.ts';
import { renderSummary } from '../../../src/cli/simulate/summary.ts';
import { drawSvg } from '../../../src/cli/simulate/svg.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import { parseLimiter } from '../../../src/simulate/limiter-specs.ts';
import { parsePattern } from '../../../src/simulate/patterns.ts';
import { runSimulation } from '../../../src/simulate/run.ts';
import { parseServer } from '../../../src/simulate/server.ts';

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
