import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { writeReport } from '../../../src/cli/load/report.ts';
import type { Chart, LineChart } from '../../../src/cli/report/page.ts';
import { checkGuarantee } from '../../../src/load/guarantee.ts';
import type { LoadResult } from '../../../src/load/result.ts';
import { Tally } from '../../../src/load/tally.ts';
import { RATE, resultOf } from '../support/load-result.ts';

const folder = mkdtempSync(join(tmpdir(), 'zerotime-load-report-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The page of a successful run, with the fields in `change` replaced. */
function pageOf(change: Partial<LoadResult> = {}): { text: string; charts: Chart[] } {
  const path = join(folder, 'page.html');
  writeReport(path, resultOf(change), '9.9.9');
  const text = readFileSync(path, 'utf8');
  const [, data = '[]'] =
    /<script type="application\/json" id="charts">(.*)<\/script>/.exec(text) ?? [];
  // Without the scripts, which need a browser.
  return { text: text.replaceAll(/<script[\s\S]*?<\/script>/g, ''), charts: JSON.parse(data) };
}

it('the page of a run shows its rate, its guarantee, its latencies and the share of each thread', () => {
  const { text, charts } = pageOf();
  expect(text).toContain('<h1>GET http://example.com/</h1>');
  expect(text).toContain('<dt>Wanted</dt><dd>2,000/s</dd>');
  expect(text).toContain('<dt>Time</dt><dd>1 s</dd>');
  expect(text).toMatch(
    /<p class="good">Guarantee: in each of 2,001,000 spans of t seconds at most 1 \+ 2,000 x t requests; the tightest: /,
  );
  expect(text).toContain('<th>in all: due → answered</th><td>0.45 ms</td>');
  expect(text).toContain('<th title="200 OK">200 OK</th><td>2,000</td><td>100.0 %</td>');
  expect(text).toContain(
    '<th title="2">2</th><td>800</td><td>40.0 %</td><td class="share"><div style="width:66.67%">',
  );
  expect(text).toContain('<footer>zerotime 9.9.9 load, Node.js');
  expect(charts.map(({ kind }) => kind)).toEqual(['lines', 'lines', 'bars']);
  const [rates] = charts as [LineChart];
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
  const [rates] = pageOf({ elapsedMs: 60_450, admittedPer100Ms }).charts as [LineChart];
  expect(rates.title).toContain('each 300 ms');
  expect(rates.series[0]?.values.slice(0, -1)).toEqual(new Array(201).fill(110));
});

it('a changed rate is shown as a range, without a line of its own', () => {
  const { text, charts } = pageOf({ rateRange: [500, 5_000] });
  expect(text).toContain('at most 1 + each rate x its time requests');
  expect((charts[0] as LineChart).series.map(({ label }) => label)).toEqual(['requests']);
});

it('problems are shown in red', () => {
  const tally = new Tally();
  tally.countStatus(404);
  tally.countError('timed out', 'after <5 s>');
  tally.countError('timed out', 'after <5 s>');
  const guarantee = checkGuarantee(Float64Array.of(0, 0, 0), 1, 1);
  const [first] = resultOf().threads;
  const threads = first === undefined ? [] : [{ ...first, crash: 'out of "luck"' }];
  const { text, charts } = pageOf({ tally, guarantee, threads, interrupted: true });
  expect(text).toContain(
    '<p class="bad">Guarantee broken: in some span of t seconds more than 1 + 2,000 x t requests; the worst: 3 in 0 ms, 1 allowed</p>',
  );
  expect(text).toContain('<p class="bad">There was no response.</p>');
  expect(text).toContain(
    '<p class="bad">Thread 1 crashed, its results are incomplete: out of &quot;luck&quot;</p>',
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
  expect((charts[0] as LineChart).series[0]?.values).toEqual([0]);
});
