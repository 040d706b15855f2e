import uPlot from 'uplot';
import { SLOT_US } from './timeline.ts';

const FONT = '12px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif';
const HEIGHT = 170;

/** The values of one lane, slot by slot. */
export interface Lines {
  readonly slots: readonly number[];
  readonly offered: readonly number[];
  readonly admitted: readonly number[];
  /** Null if not sampled. */
  readonly tokens: readonly (number | null)[];
  /** The bound for a slot. Null if it is too high for the chart. */
  readonly most: number | null;
}

function ink(name: string): () => string {
  return () => getComputedStyle(document.body).getPropertyValue(`--${name}`).trim();
}

function axis(): uPlot.Axis {
  return {
    font: FONT,
    stroke: ink('text'),
    grid: { stroke: ink('line'), width: 1 },
    ticks: { stroke: ink('line'), width: 1, size: 4 },
  };
}

/** Under the pointer; the latest while it is elsewhere. */
function valueAt(plot: uPlot, series: number, index: number | null): number | null | undefined {
  return plot.data[series]?.[index ?? plot.data[0].length - 1];
}

function line(
  label: string,
  colour: string,
  absent: string,
  options: Partial<uPlot.Series> = {},
): uPlot.Series {
  return {
    label,
    stroke: ink(colour),
    width: 1.5,
    points: { show: false },
    value: (plot, _, series, index) =>
      valueAt(plot, series, index)?.toLocaleString('en-US', { maximumFractionDigits: 1 }) ?? absent,
    ...options,
  };
}

/** Requests and tokens over time. All charts of the page share one time axis and one cursor. */
export class Chart {
  readonly #plot: uPlot;
  readonly #listening = new AbortController();

  /** `flows`: whether tokens arrive continuously, not in steps. */
  constructor(place: HTMLElement, { flows, unit }: { flows: boolean; unit: string }) {
    const { stepped, linear } = uPlot.paths;
    if (stepped === undefined || linear === undefined) throw new Error('uPlot lacks its paths');
    const steps = stepped({ align: 1 });
    const inSteps: Partial<uPlot.Series> = { paths: steps };
    const tokens = { scale: 'tokens', paths: flows ? linear() : steps, spanGaps: true };
    this.#plot = new uPlot(
      {
        width: Math.max(200, place.clientWidth),
        height: HEIGHT,
        cursor: { sync: { key: 'playground' }, drag: { x: false, y: false } },
        legend: { live: true },
        scales: {
          x: { time: false },
          y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
          tokens: { range: (_, min, max) => [Math.min(0, min), Math.max(1, max * 1.1)] },
        },
        axes: [
          { ...axis(), size: 30, values: (_, ticks) => ticks.map((at) => `${at} s`) },
          { ...axis(), size: 44 },
          { ...axis(), size: 44, scale: 'tokens', side: 1, grid: { show: false } },
        ],
        series: [
          {
            label: 'at',
            value: (plot, _, __, index) => `${valueAt(plot, 0, index)?.toFixed(1) ?? 0} s`,
          },
          line('offered', 'grey', '0', inSteps),
          line('admitted', 'blue', '0', { ...inSteps, fill: () => `${ink('blue')()}33` }),
          line('most in 100 ms', 'red', 'not shown', { dash: [5, 4], width: 1 }),
          line(unit, 'orange', 'not read', tokens),
        ],
      },
      [[], [], [], [], []],
      place,
    );
    const { signal } = this.#listening;
    const observer = new ResizeObserver(() => {
      this.#plot.setSize({ width: Math.max(200, place.clientWidth), height: HEIGHT });
    });
    observer.observe(place);
    signal.addEventListener('abort', () => observer.disconnect());
    const redraw = () => this.#plot.redraw(false, true);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw, { signal });
  }

  draw({ slots, offered, admitted, tokens, most }: Lines): void {
    const seconds = slots.map((slot) => (slot * SLOT_US) / 1e6);
    const bound = slots.map(() => most);
    this.#plot.setData([seconds, [...offered], [...admitted], bound, [...tokens]]);
  }

  remove(): void {
    this.#listening.abort();
    this.#plot.destroy();
  }
}
