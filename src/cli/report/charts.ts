// Runs in the browser, in a page with uPlot and the data: see render.ts. Bundled and inlined as
// text; nothing imports it.

import type uPlotModule from 'uplot';
import type { Chart, Colour } from './page.ts';

// The few browser types used here. The DOM library would add its globals to all files.
interface Element {
  readonly clientWidth: number;
  readonly textContent: string;
}
declare const document: {
  readonly body: object;
  getElementById(id: string): Element | null;
  querySelectorAll(selector: string): Iterable<Element>;
};
declare function getComputedStyle(element: object): { getPropertyValue(name: string): string };
declare function matchMedia(query: string): { onchange: (() => void) | null };
declare const ResizeObserver: new (onResize: () => void) => { observe(element: object): void };
declare const devicePixelRatio: number;
declare const uPlot: typeof uPlotModule;

// Labels of axes and legends.

function shown(value: number, unit: string): string {
  if (unit === ' ms' && value >= 1_000) return shown(value / 1_000, ' s');
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 3;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits }) + unit;
}

/** A label short enough for the axis. */
function tick(value: number, unit: string): string {
  if (value < 10_000 || unit === ' ms') return shown(value, unit);
  const notation = { notation: 'compact', maximumFractionDigits: 1 } as const;
  return value.toLocaleString('en-US', notation) + unit;
}

/** Formats odds as a percentile: 100 as `99 %`. */
function percentile(odds: number): string {
  const digits = Math.max(0, Math.ceil(Math.log10(odds)) - 1);
  return `${Number((100 - 100 / odds).toFixed(digits))} %`;
}

/** Formats seconds: `90` as `1:30`, `0.5` as `0.5 s`. */
function clock(seconds: number, isLong: boolean): string {
  if (!isLong) return `${Number(seconds.toFixed(3))} s`;
  const whole = Math.round(seconds);
  const two = (n: number) => String(n).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return hours > 0
    ? `${hours}:${two(minutes)}:${two(whole % 60)}`
    : `${minutes}:${two(whole % 60)}`;
}

/** Round steps in seconds: decimal for axes below two minutes, in clock units above. */
const TIME_STEPS: number[] = [
  ...[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300],
  ...[600, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800],
];

type Options = ConstructorParameters<typeof uPlotModule>[0];
type Plot = InstanceType<typeof uPlotModule>;

const HEIGHT = 260;
const LOW_HEIGHT = 160;
/** The same for all charts, so that they align one below the other. */
const Y_AXIS = 64;
const FONT = '12px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif';

function ink(name: Colour | 'text' | 'faint'): string {
  return getComputedStyle(document.body).getPropertyValue(`--${name}`).trim();
}

function axis(): object {
  return {
    font: FONT,
    size: 34,
    stroke: () => ink('text'),
    grid: { stroke: () => ink('faint'), width: 1 },
    ticks: { stroke: () => ink('faint'), width: 1, size: 5 },
  };
}

/** Ticks at 0, 50, 90, 99, 99.9 % and so on, as far as there is room. */
function percentileSplits(plot: Plot, last: number): number[] {
  const decades = Math.max(1, Math.log10(last));
  const room = (plot.width - Y_AXIS) / decades;
  const step = Math.max(1, Math.ceil(56 / room));
  const powers = Array.from(
    { length: Math.floor(decades / step + 1e-9) + 1 },
    (_, at) => 10 ** (at * step),
  );
  return room < 150 ? powers : [1, 2, ...powers.slice(1)];
}

/** Options of the x axis. */
function across({ x, end, over, labels = [] }: Chart) {
  const last = end ?? x.at(-1) ?? 1;
  if (over === 'labels') {
    const told = (at: number) => labels[at] ?? '';
    return {
      cursor: { drag: { x: false, y: false } },
      scale: { time: false, range: [-0.6, last + 0.6] as [number, number] },
      axis: {
        space: 66,
        incrs: [1, 2, 3, 5, 10],
        values: (_: Plot, ticks: number[]) => ticks.map(told),
      },
      told,
    };
  }
  if (over === 'percentile') {
    return {
      cursor: {},
      scale: { time: false, distr: 3 as const, range: [1, Math.max(10, last)] as [number, number] },
      axis: {
        splits: (plot: Plot) => percentileSplits(plot, Math.max(10, last)),
        filter: (_: Plot, ticks: number[]) => ticks,
        values: (_: Plot, ticks: number[]) => ticks.map(percentile),
      },
      told: percentile,
    };
  }
  if (over === 'past') {
    const ago = (at: number) => (at === 0 ? 'now' : `−${clock(-at, true)}`);
    return {
      cursor: { sync: { key: 'past' } },
      scale: { time: false, range: [-last, 0] as [number, number] },
      axis: {
        space: 60,
        incrs: TIME_STEPS,
        values: (_: Plot, ticks: number[]) => ticks.map(ago),
      },
      told: ago,
    };
  }
  const isLong = last >= 120;
  return {
    cursor: { sync: { key: 'time' } },
    scale: {
      time: false,
      range: (_: Plot, from: number | null, to: number | null) => zoomed(from, to, x, last),
    },
    axis: {
      space: 70,
      incrs: TIME_STEPS,
      values: (_: Plot, ticks: number[]) => ticks.map((at) => clock(at, isLong)),
    },
    told: (at: number) => clock(at, isLong),
  };
}

/** The whole time axis, or the part that the reader has selected. */
function zoomed(
  from: number | null,
  to: number | null,
  x: readonly number[],
  last: number,
): [number, number] {
  const isWhole = from === null || to === null || (from === x[0] && to === x.at(-1));
  return isWhole ? [0, last] : [from, to];
}

function isShown(value: number | null): boolean {
  return value !== null;
}

function optionsOf(chart: Chart): Options {
  const { over, series, unit, logarithmic, steps, top, isLow, head } = chart;
  const { cursor, scale, axis: xAxis, told } = across(chart);
  const hasDots = over === 'time' || over === 'percentile';
  const paths =
    over === 'labels'
      ? uPlot.paths.bars?.({ size: [0.86, 60], align: 0 })
      : steps && uPlot.paths.stepped?.({ align: 1 });
  return {
    width: 0,
    height: isLow ? LOW_HEIGHT : HEIGHT,
    cursor: {
      points: { show: false },
      drag: { x: true, y: false },
      focus: { prox: 16 },
      ...cursor,
    },
    focus: { alpha: 0.3 },
    legend: { markers: markersOf(series) },
    scales: {
      x: scale,
      y: logarithmic
        ? { distr: 3, range: (_: Plot, min: number, max: number) => logarithms(min, max) }
        : {
            range: (_: Plot, min: number, max: number) => [
              Math.min(0, min * 1.05),
              top ?? (max > 0 ? max * 1.05 : 1),
            ],
          },
    },
    axes: [
      { ...axis(), ...xAxis },
      {
        ...axis(),
        size: Y_AXIS,
        values: (_: Plot, ticks: (number | null)[]) =>
          ticks.map((value) => (value === null ? '' : tick(value, unit))),
      },
    ],
    series: [
      {
        label: head ?? 'at',
        value: (_: Plot, at: number | null) => (at === null ? '' : told(at)),
      },
      ...series.map(({ label, colour, look, values }) => ({
        label,
        stroke: () => ink(colour),
        width: look === 'area' || look === 'bars' ? 1 : 2,
        // Shows a dot for a single point, whose line would be invisible.
        points: { show: hasDots && values.filter(isShown).length < 2, size: 6 },
        spanGaps: true,
        value: (_: Plot, value: number | null) => (value === null ? '' : shown(value, unit)),
        ...(look === 'area' && { fill: () => `${ink(colour)}40` }),
        ...(look === 'bars' && { fill: () => `${ink(colour)}90` }),
        ...(look === 'dashes' && { dash: [6, 4] }),
        ...(paths && { paths }),
      })),
    ],
  };
}

/** Fills of the legend's markers. */
const FILLS = {
  line: (colour: string) => colour,
  area: (colour: string) => `color-mix(in srgb, ${colour} 30%, transparent)`,
  bars: (colour: string) => `color-mix(in srgb, ${colour} 56%, transparent)`,
  dashes: () => 'transparent',
};

/** Colours of the legend, which follow the theme in CSS. The first series is x. */
function markersOf(series: Chart['series']): object {
  const at = (index: number) => series[index - 1];
  const variable = (index: number) => `var(--${at(index)?.colour})`;
  return {
    width: 2,
    stroke: (_: Plot, index: number) => variable(index),
    fill: (_: Plot, index: number) => FILLS[at(index)?.look ?? 'dashes'](variable(index)),
    dash: (_: Plot, index: number) => (at(index)?.look === 'dashes' ? 'dashed' : 'solid'),
  };
}

function logarithms(min: number, max: number): [number, number] {
  return min > 0 ? (uPlot.rangeLog(min, max, 10, false) as [number, number]) : [0.1, 1];
}

/** Draws a chart in an element. */
export function draw(chart: Chart, place: Element): Plot {
  const options = optionsOf(chart);
  const data = [chart.x, ...chart.series.map(({ values }) => values)];
  type Data = NonNullable<ConstructorParameters<typeof uPlotModule>[1]>;
  type Place = ConstructorParameters<typeof uPlotModule>[2];
  const plot = new uPlot({ ...options, width: place.clientWidth }, data as Data, place as Place);
  new ResizeObserver(() =>
    plot.setSize({ width: place.clientWidth, height: options.height }),
  ).observe(place);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.onchange = () => plot.redraw(false);
  kept.push(dark);
  return plot;
}

/** Keeps the media queries alive: once collected, the colours would no longer follow the theme. */
const kept: object[] = [];

const charts: Chart[] = JSON.parse(document.getElementById('charts')?.textContent ?? '[]');
const places = [...document.querySelectorAll('.chart')];
charts.forEach((chart, at) => {
  const place = places[at];
  if (place !== undefined) draw(chart, place);
});
