import { expect, it, onTestFinished } from 'vitest';
import { pageOf as contentOf } from '../../../src/cli/load/page.ts';
import type { Chart } from '../../../src/cli/report/page.ts';
import { renderPage } from '../../../src/cli/report/render.ts';
import { checkGuarantee } from '../../../src/load/judge/guarantee.ts';
import { Tally } from '../../../src/load/measure/tally.ts';
import { type Change, CLIENT, FITNESS, OPTIONS, RATE, resultOf } from '../support/load-result.ts';
import { chartsIn } from '../support/pages.ts';

/** The page of a successful run, with the fields in `change` replaced. */
function pageOf(change: Change = {}): { text: string; charts: Chart[] } {
  const text = renderPage(contentOf({ ...resultOf(change), ...CLIENT }));
  // Without the scripts, which need a browser.
  return { text: text.replaceAll(/<script[\s\S]*?<\/script>/g, ''), charts: chartsIn(text) };
}

/** The chart whose title begins like this. */
function chartOf(charts: readonly Chart[], beginning: string): Chart {
  return charts.find(({ title }) => title.startsWith(beginning)) as Chart;
}

const ratesOf = (charts: readonly Chart[]) => chartOf(charts, 'Requests that came due');

it('the page begins with the verdict, and ends with how, with what and where', () => {
  const { argv } = process;
  onTestFinished(() => void Object.assign(process, { argv }));
  process.argv = ['node', 'zerotime', 'load', 'http://example.com/'];
  const { text } = pageOf();
  const verdict = text.indexOf(
    '<section class="verdict good">\n<p class="good">rate and guarantee held: 2,000/s',
  );
  expect(verdict).toBeGreaterThan(0);
  expect(verdict).toBeLessThan(text.indexOf('<dl class="tiles">'));
  expect(text.indexOf('<dt>Command</dt>')).toBeGreaterThan(text.lastIndexOf('<figure>'));
  expect(text).toContain('<dd>zerotime load http://example.com/</dd>');
  expect(text).toContain('<dd>zerotime 9.9.9, Node.js v20.0.0</dd>');
  expect(text).toContain('<dd>4 x Some processor, 8.0 GiB, Linux 6 x64</dd>');
  expect(text).toContain('<dt>p99</dt><dd>0.45 ms</dd>');
  expect(text).toContain('<p class="good">No errors.</p>');
  expect(text).not.toContain('Warm-up');
  const warm = pageOf({ warmUp: { sent: 20, succeeded: 20, failed: 0 } }).text;
  expect(warm).toContain('<dd>20 requests, not included in any figure</dd>');
});

it('failures are shown by due time, each kind in its colour', () => {
  const tally = new Tally(0);
  for (let at = 0; at < 7; at += 1) {
    for (let count = 0; count <= at; count += 1) tally.countStatus(500 + at, at * 100_000);
  }
  const { text, charts } = pageOf({ tally });
  const chart = chartOf(charts, 'Failures');
  expect(chart.title).toBe('Failures by due time, each 10 ms');
  expect([chart.x.length, chart.end]).toEqual([101, 1]);
  // The most frequent first. A failure in 10 ms is 100 a second.
  expect(chart.series.map(({ label, values }) => [label, Math.max(...values.map(Number))])).toEqual(
    [
      ['506', 700],
      ['505', 600],
      ['504', 500],
      ['503', 400],
      ['502', 300],
      ['others', 200],
    ],
  );
  expect(new Set(chart.series.map(({ colour }) => colour)).size).toBe(6);
  expect(text).not.toContain('No errors.');
});

it.each([
  [500, 10, 'whole slots'],
  [4_500, 100, 'whole slots'],
  [5_000, 100, 'whole slots'],
  [10_000, 100, 'whole slots'],
  [50_000, 1_000, 'whole slots'],
  [4_520, 100, 'a part of a slot at the end'],
  [4_500.4, 100, 'next to nothing after the last slot'],
])('even failures over %d ms are drawn even, each %d ms: %s', (elapsedMs, slotMs) => {
  const tally = new Tally(0);
  for (let ms = 0; ms < elapsedMs; ms += 1) tally.countStatus(503, ms * 1_000);
  const chart = chartOf(pageOf({ tally, elapsedMs }).charts, 'Failures');
  expect(chart.title).toContain(slotMs < 1_000 ? `each ${slotMs} ms` : 'each 1 s');
  expect(chart.x.at(-1)).toBeCloseTo(elapsedMs / 1_000, 9);
  const rates = chart.series[0]?.values.map(Number) ?? [];
  expect(rates.length).toBeGreaterThanOrEqual(45);
  // Only the last slot may end with the run.
  for (const rate of rates.slice(0, Math.floor(elapsedMs / slotMs) - 1)) {
    expect(rate).toBeCloseTo(1_000, 6);
  }
  for (const rate of rates) expect(Math.abs(rate - 1_000)).toBeLessThan(20);
});

it('the page of a task speaks of calls that are done', () => {
  const task = { url: 'file:///task.mjs', data: undefined, concurrency: 5 };
  const options = { ...OPTIONS, task };
  const page = pageOf({ options });
  expect(page.charts.map(({ title }) => title)).toContainEqual(
    expect.stringMatching(/^From due to done, by due time/),
  );
  expect(page.text).toContain('<h2>Errors</h2>');
  expect(page.text + JSON.stringify(page.charts)).not.toMatch(/request|respon|answered/i);
  const none = pageOf({ options, tally: new Tally(0) }).text;
  expect(none).toContain('No call ended.');
});

it('the page counts sessions of HTTP/2', () => {
  const options = { ...OPTIONS, transport: { http2: true }, connections: 3 };
  expect(pageOf({ options }).text).toContain('<dt>Sessions</dt><dd>at most 3</dd>');
});

it('the page counts the threads of all processes', () => {
  expect(pageOf().text).toContain('<dt>Threads</dt><dd>2</dd>');
  const { text } = pageOf({ options: { ...OPTIONS, processes: 3 } });
  expect(text).toContain('<dt>Threads</dt><dd>6 in 3 processes</dd>');
});

it('the page of a run shows its rate, its guarantee, its latencies and the share of each thread', () => {
  const { text, charts } = pageOf();
  expect(text).toContain('<h1>GET http://example.com/</h1>');
  expect(text).toContain('<dt>Wanted</dt><dd>2,000/s</dd>');
  expect(text).toContain('<dt>Time</dt><dd>1 s</dd>');
  expect(text).toMatch(
    /<p class="good">Guarantee: in every span of t seconds at most 1 \+ 2,000 x t requests; tightest of 2,001,000 spans: /,
  );
  expect(text).toContain('<th>in all: due → answered</th><td data-name="p50">0.45 ms</td>');
  expect(text).toContain('<th title="200 OK">200 OK</th><td>2,000</td><td>100.0 %</td>');
  expect(text).toContain(
    '<th title="2">2</th><td>800</td><td>40.0 %</td><td class="share"><div style="width:66.67%">',
  );
  expect(text).toContain('<footer>zerotime 9.9.9 load, Node.js');
  expect(charts.map(({ title }) => title)).toEqual([
    'From due to answered, by due time, at least 110 for each point',
    'Latency by percentile',
    'Latency distribution',
    'Requests that came due, each 100 ms',
  ]);
  const rates = ratesOf(charts);
  expect(rates.x).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]);
  expect(rates.series.map(({ label, values }) => [label, new Set(values)])).toEqual([
    ['requests', new Set([RATE])],
    ['wanted', new Set([RATE])],
  ]);
});

it('the rates of a long run are averaged over whole groups of tenths of a second', () => {
  const admittedPer100Ms = Array.from({ length: 605 }, (_, slot) =>
    slot < 603 ? 10 + (slot % 3) : 0,
  );
  const rates = ratesOf(pageOf({ elapsedMs: 60_450, admittedPer100Ms }).charts);
  expect(rates.title).toContain('each 300 ms');
  expect(rates.series[0]?.values.slice(0, -1)).toEqual(new Array(201).fill(110));
});

it('a changed rate is shown as a range, without a line of its own', () => {
  const { text, charts } = pageOf({ wantedRangePerSecond: [500, 5_000] });
  expect(text).toContain('at most 1 + each rate x its time requests');
  expect(ratesOf(charts).series.map(({ label }) => label)).toEqual(['requests']);
});

it('problems are shown in red', () => {
  const tally = new Tally();
  tally.countStatus(404);
  tally.countError('timed out', 'after <5 s>');
  tally.countError('timed out', 'after <5 s>');
  const guarantee = checkGuarantee(Float64Array.of(0, 0, 0), 1, 1);
  const [first] = resultOf().threads;
  const threads =
    first === undefined ? [] : [{ ...first, counters: first.calls, crash: 'out of "luck"' }];
  const { text, charts } = pageOf({ tally, guarantee, threads, interrupted: true });
  expect(text).toContain(
    '<p class="bad">Guarantee broken: in some span of t seconds more than 1 + 2,000 x t requests; worst of 6 spans: 3 in 0 ms, 1 allowed</p>',
  );
  expect(text).toContain('<p class="bad">There was no response.</p>');
  expect(text).toContain(
    '<p class="bad">thread 1 crashed, its results are incomplete: out of &quot;luck&quot;</p>',
  );
  expect(text).toContain('<dd>1 s, ended early</dd>');
  expect(text.indexOf('404 Not Found')).toBeLessThan(text.indexOf('timed out: after &lt;5 s&gt;'));
  expect(charts.length).toBe(1);
});

it('a run of no length has a page', () => {
  const guarantee = checkGuarantee(new Float64Array(0), RATE, 1);
  const change = { elapsedMs: 0, admittedPer100Ms: [], guarantee, admitted: 0, sent: 0 };
  const { text, charts } = pageOf(change);
  expect(text).toContain('requests</p>');
  expect(ratesOf(charts).series[0]?.values).toEqual([0]);
});

it('the page of the embedded server has no failure for latencies that are only an example', () => {
  const { text } = pageOf({
    options: { ...OPTIONS, url: undefined },
    fitness: { ...FITNESS, fit: false, limits: [{ kind: 'samples', count: 3 }] },
  });
  expect(text).toContain('<section class="verdict good">');
  expect(text).toContain('<p class="note">the latencies are only an example');
  expect(text).not.toContain('<p class="bad">');
  // The notes of other sections have the same class.
  expect(text).toContain('.verdict .note::before');
  expect(text).not.toMatch(/^p?\.note::before/m);
});
