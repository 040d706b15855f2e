import { vi } from 'vitest';
import type { Chart } from '../../../src/cli/report/page.ts';

interface Axis {
  splits?(plot: unknown): readonly number[];
  filter?(plot: unknown, ticks: readonly number[]): readonly number[];
  stroke(): string;
  readonly grid: { stroke(): string };
  readonly ticks: { stroke(): string };
  values(plot: unknown, ticks: readonly (number | null)[]): readonly string[];
}
interface Drawn {
  readonly label: string;
  readonly dash?: readonly number[];
  readonly paths?: string;
  readonly points?: { readonly show: boolean };
  stroke(): string;
  fill?(): string;
  value(plot: unknown, value: number | null): string;
}
export interface Options {
  readonly width: number;
  readonly axes: readonly [x: Axis, y: Axis];
  readonly series: readonly [at: Drawn, first: Drawn, ...rest: Drawn[]];
  readonly height: number;
  readonly cursor: { readonly sync?: { readonly key: string } };
  readonly legend: {
    readonly markers: {
      stroke(plot: unknown, index: number): string;
      fill(plot: unknown, index: number): string;
      dash(plot: unknown, index: number): string;
    };
  };
  readonly scales: {
    readonly x: {
      readonly distr?: number;
      readonly range: unknown;
    };
    readonly y: {
      readonly distr?: number;
      range(plot: unknown, min: number, max: number): number[];
    };
  };
}

class Plot {
  static readonly paths = { stepped: () => 'in steps', bars: () => 'as bars' };
  static readonly rangeLog = (min: number, max: number) => [min / 10, max * 10];
  readonly sizes: unknown[] = [];
  redrawn = 0;
  readonly options: Options;
  readonly data: unknown;

  constructor(options: Options, data: unknown) {
    this.options = options;
    this.data = data;
    plots.push(this);
  }

  setSize(size: unknown): void {
    this.sizes.push(size);
  }

  redraw(): void {
    this.redrawn++;
  }
}

let plots: Plot[] = [];

/** A page on which charts were drawn. */
export interface Page {
  /** The calls to uPlot. */
  readonly plots: readonly Plot[];
  /** Where they are drawn. */
  readonly places: readonly { clientWidth: number }[];
  /** Tells the page that the size of a place has changed. */
  resize(): void;
  /** Tells the page that its colours have changed. */
  recolour(): void;
}

/** Draws these charts on a page with this many places for them. */
export async function drawn(charts: readonly Chart[], count = charts.length): Promise<Page> {
  plots = [];
  const places = Array.from({ length: count }, () => ({ clientWidth: 640 }));
  const scheme: { onchange: (() => void) | null } = { onchange: null };
  let resize = (): void => undefined;
  const textContent = JSON.stringify(charts);
  vi.stubGlobal('document', {
    body: {},
    getElementById: (id: string) => (id === 'charts' ? { textContent } : null),
    querySelectorAll: (selector: string) => (selector === '.chart' ? places : []),
  });
  vi.stubGlobal('getComputedStyle', () => ({ getPropertyValue: (name: string) => ` ${name}! ` }));
  vi.stubGlobal('matchMedia', () => scheme);
  vi.stubGlobal(
    'ResizeObserver',
    class {
      constructor(onResize: () => void) {
        resize = onResize;
      }
      observe(): void {}
    },
  );
  vi.stubGlobal('uPlot', Plot);
  vi.resetModules();
  await import('../../../src/cli/report/charts.ts');
  return { plots, places, resize: () => resize(), recolour: () => scheme.onchange?.() };
}

/** The options of the call to uPlot that draws this chart. */
export async function optionsOf(chart: Chart): Promise<Options> {
  const [plot] = (await drawn([chart])).plots;
  if (plot === undefined) throw new Error('nothing was drawn');
  return plot.options;
}
