import { describe, expect, it } from 'vitest';
import type { Chart } from '../../../src/cli/report/page.ts';
import { drawn, optionsOf } from './fake-plot.ts';

// Runs the page's script with a fake uPlot that records its calls. report.e2e.test.ts checks in a
// real browser that the real one draws.

const LINES: Chart = {
  title: 'rates',
  over: 'time',
  x: [0, 1, 2],
  series: [
    { label: 'came', colour: 'grey', values: [1, null, 3], look: 'area' },
    { label: 'bound', colour: 'red', values: [5, 5, 5], look: 'dashes' },
    { label: 'p50', colour: 'blue', values: [1, 2, 3], look: 'line' },
  ],
  unit: '/s',
  logarithmic: false,
  steps: true,
};

describe('a chart of lines', () => {
  it('of the past ends now, shows debts, and draws no dots', async () => {
    const empty = LINES.series.map((one) => ({ ...one, values: [null, null, null] }));
    const past: Chart = { ...LINES, over: 'past', end: 300, x: [-9, -5, 0], series: empty };
    const { axes, scales, series, cursor } = await optionsOf(past);
    expect(scales.x.range).toEqual([-300, 0]);
    expect(axes[0].values({}, [-120, -5, 0])).toEqual(['−2:00', '−0:05', 'now']);
    expect(scales.y.range({}, -20, 100)).toEqual([-21, 105]);
    expect(series.slice(1).map(({ points }) => points?.show)).toEqual([false, false, false]);
    expect(cursor.sync).toEqual({ key: 'past' });
  });

  it('shows values over time, each line in a colour of the page and its own style', async () => {
    const [plot] = (await drawn([LINES])).plots;
    expect(plot?.data).toEqual([LINES.x, ...LINES.series.map(({ values }) => values)]);
    expect(plot?.options.width).toBe(640);
    const [, ...series] = plot?.options.series ?? [];
    expect(
      series.map((one) => [one.label, one.stroke(), one.fill?.(), one.dash, one.paths]),
    ).toEqual([
      ['came', '--grey!', '--grey!40', undefined, 'in steps'],
      ['bound', '--red!', undefined, [6, 4], 'in steps'],
      ['p50', '--blue!', undefined, undefined, 'in steps'],
    ]);
    const [axis] = plot?.options.axes ?? [];
    expect([axis?.stroke(), axis?.grid.stroke(), axis?.ticks.stroke()]).toEqual([
      '--text!',
      '--faint!',
      '--faint!',
    ]);
  });

  it('shows a single point, which no line goes through', async () => {
    const { series } = await optionsOf({
      ...LINES,
      series: [
        { label: 'one', colour: 'blue', values: [null, 5, null], look: 'line' },
        ...LINES.series,
      ],
    });
    expect(series.slice(1).map(({ points }) => points?.show)).toEqual([true, false, false, false]);
  });

  it('joins its points unless it draws steps', async () => {
    const { series } = await optionsOf({ ...LINES, steps: false });
    expect(series[1].paths).toBeUndefined();
  });

  it.each([
    [2, ['0 s', '0.5 s', '1.25 s']],
    [120, ['0:00', '0:01', '0:01']],
  ])('tells time that goes to %d s as %j', async (last, told) => {
    const { axes, series } = await optionsOf({ ...LINES, x: [0, last] });
    expect(axes[0].values(undefined, [0, 0.5, 1.25])).toEqual(told);
    expect(series[0].value(undefined, 0.5)).toBe(told[1]);
    expect(series[0].value(undefined, null)).toBe('');
  });

  it('formats long times like a clock', async () => {
    const { axes } = await optionsOf({ ...LINES, x: [0, 4_000] });
    expect(axes[0].values(undefined, [90, 600, 3_605])).toEqual(['1:30', '10:00', '1:00:05']);
  });

  it('formats values with their unit, and larger ones with fewer digits', async () => {
    const { axes, series } = await optionsOf(LINES);
    expect(axes[1].values(undefined, [0.1234, 12.34, 1234.5, 12_500, null])).toEqual([
      '0.123/s',
      '12.3/s',
      '1,235/s',
      '12.5K/s',
      '',
    ]);
    expect(series[1].value(undefined, 12_500)).toBe('12,500/s');
    expect(series[1].value(undefined, 5)).toBe('5/s');
    expect(series[1].value(undefined, null)).toBe('');
  });

  it('starts at 0 and ends above its highest value unless it is logarithmic', async () => {
    const { y } = (await optionsOf(LINES)).scales;
    expect(y.range(undefined, 3, 100)).toEqual([0, 105]);
    expect(y.range(undefined, 0, 0)).toEqual([0, 1]);
    const logarithmic = (await optionsOf({ ...LINES, logarithmic: true })).scales.y;
    expect(logarithmic.distr).toBe(3);
    expect(logarithmic.range(undefined, 1, 5)).toEqual([0.1, 50]);
    // Without a value.
    expect(logarithmic.range(undefined, 0, 0)).toEqual([0.1, 1]);
  });

  it('has the height and the highest value of those that it is compared with', async () => {
    const low = await optionsOf({ ...LINES, top: 70, isLow: true });
    expect(low.scales.y.range(undefined, 3, 100)).toEqual([0, 70]);
    expect(low.height).toBeLessThan((await optionsOf(LINES)).height);
  });

  it('shares its time axis and the pointer with all others, until the reader zooms', async () => {
    const { cursor, scales } = await optionsOf({ ...LINES, end: 4 });
    expect(cursor.sync?.key).toBe('time');
    const range = scales.x.range as (plot: unknown, from: unknown, to: unknown) => unknown;
    expect(range(undefined, 0, 2)).toEqual([0, 4]);
    expect(range(undefined, null, null)).toEqual([0, 4]);
    expect(range(undefined, 1, 2)).toEqual([1, 2]);
  });

  it('has markers in the legend that follow the theme, and look like the lines', async () => {
    const { markers } = (await optionsOf(LINES)).legend;
    const looks = [1, 2, 3].map((index) => [
      markers.stroke(undefined, index),
      markers.fill(undefined, index),
      markers.dash(undefined, index),
    ]);
    expect(looks).toEqual([
      ['var(--grey)', 'color-mix(in srgb, var(--grey) 30%, transparent)', 'solid'],
      ['var(--red)', 'transparent', 'dashed'],
      ['var(--blue)', 'var(--blue)', 'solid'],
    ]);
  });
});

describe('a chart over percentiles', () => {
  const CURVE: Chart = { ...LINES, over: 'percentile', x: [1, 10, 100, 1_000], unit: ' ms' };

  it('has as much room for each nine', async () => {
    const { axes, scales, series, cursor } = await optionsOf(CURVE);
    expect([scales.x.distr, scales.x.range]).toEqual([3, [1, 1_000]]);
    expect(cursor.sync).toBeUndefined();
    const [x] = axes;
    const wide = x.splits?.({ width: 1_000 }) ?? [];
    expect(x.filter?.(undefined, wide)).toBe(wide);
    expect(x.values(undefined, wide)).toEqual(['0 %', '50 %', '90 %', '99 %', '99.9 %']);
    expect(x.values(undefined, x.splits?.({ width: 300 }) ?? [])).toEqual([
      '0 %',
      '90 %',
      '99 %',
      '99.9 %',
    ]);
    expect(x.splits?.({ width: 170 })).toEqual([1, 100]);
    expect(series[0].value(undefined, 316)).toBe('99.68 %');
  });

  it('shows long times in seconds', async () => {
    const { axes } = await optionsOf(CURVE);
    expect(axes[1].values(undefined, [0.5, 999, 1_500, 20_000])).toEqual([
      '0.5 ms',
      '999 ms',
      '1.5 s',
      '20 s',
    ]);
  });
});

it('a bar chart labels each bar and names its unit', async () => {
  const labels = ['1 ms', '2 ms'];
  const { plots } = await drawn([
    {
      ...{ title: 'waits', over: 'labels', head: 'up to', labels, x: [0, 1], unit: '' },
      series: [{ label: 'calls', colour: 'blue', values: [3, 4_000], look: 'bars' }],
    },
  ]);
  const [plot] = plots;
  expect(plot?.data).toEqual([
    [0, 1],
    [3, 4_000],
  ]);
  if (plot === undefined) throw new Error('nothing was drawn');
  const { axes, series, scales } = plot.options;
  expect(axes[0].values(undefined, [0, 1, 2])).toEqual(['1 ms', '2 ms', '']);
  expect(axes[1].values(undefined, [4_000])).toEqual(['4,000']);
  expect(scales.y.range(undefined, 0, 100)).toEqual([0, 105]);
  expect([0, null, 7].map((at) => series[0].value(undefined, at))).toEqual(['1 ms', '', '']);
  expect([4_000, null].map((count) => series[1].value(undefined, count))).toEqual(['4,000', '']);
  expect(series[0].label).toBe('up to');
  const { label, paths } = series[1];
  expect([label, paths, series[1].stroke(), series[1].fill?.()]).toEqual([
    'calls',
    'as bars',
    '--blue!',
    '--blue!90',
  ]);
});

it('a chart follows the size of its place and the colours of the page', async () => {
  const { plots, places, resize, recolour } = await drawn([LINES]);
  const [[plot], [place]] = [plots, places];
  if (place === undefined || plot === undefined) throw new Error('nothing was drawn');
  place.clientWidth = 320;
  resize();
  expect(plot.sizes).toEqual([{ width: 320, height: 260 }]);
  recolour();
  expect(plot.redrawn).toBe(1);
});

it('draws no more charts than there are places', async () => {
  expect((await drawn([LINES, LINES], 1)).plots.length).toBe(1);
});
