import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { LineChart } from '../../../src/cli/report/page.ts';
import { compare, RunFolder, row } from './recorded-runs.ts';

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
    const empty = runs.record('empty.json', {
      change: { tally: new (await import('../../../src/load/measure/tally.ts')).Tally() },
    });
    const { code, stdout } = await compare(
      ...[empty, empty, '--max-slower', '5%', '--max-more-errors', '1%'],
    );
    expect(code).toBe(3);
    expect(stdout).toContain('too few requests to judge any latency');
    expect(stdout).toContain('there was no request to judge');
  });

  it('does not take runs whose requests all failed for fast ones', async () => {
    const { Tally } = await import('../../../src/load/measure/tally.ts');
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
    const { PLAIN } = await import('../../../src/cli/terminal.ts');
    const { compareSides, sideOf } = await import('../../../src/cli/compare/comparison.ts');
    const { readRun } = await import('../../../src/cli/compare/recorded-run.ts');
    const { renderSummary } = await import('../../../src/cli/compare/summary.ts');
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
