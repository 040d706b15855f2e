// A region on the page of `zerotime host serve`: runs in the browser.

import { draw } from '../../report/charts.ts';
import type { LineChart } from '../../report/page.ts';
import { ChangeForm, type MakeChange } from './change-form.ts';
import { el, type Node, Table, write } from './dom.ts';
import type { LimiterView, Point, RegionView, Sample } from './view.ts';

const SHOWN_S = 300;
/** Rates are averages of the last seconds. */
const RATE_SAMPLES = 3;

function number(value: number | null | undefined): string {
  if (value === null || value === undefined) return '';
  const maximumFractionDigits = Math.abs(value) >= 100 ? 0 : 1;
  return value.toLocaleString('en-US', { maximumFractionDigits });
}

function levelText({ unit, isDamaged }: LimiterView, [level, most]: Point): string {
  if (isDamaged) return 'damaged';
  if (level === null) return '';
  if (unit === 'keys') return `${number(level)} ${level === 1 ? 'key' : 'keys'}`;
  return `${number(level)}${most === null ? '' : ` of ${number(most)}`} ${unit}`;
}

function timeText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800
    ? `${Math.round(seconds / 3600)} h`
    : `${Math.round(seconds / 86_400)} d`;
}

const NONE: Point = [null, null, null, null, null];

/** The growth of a count each second between two samples; null after a new start of the region. */
function growth(from: readonly [number, Point], to: readonly [number, Point], field: 2 | 3) {
  const [[fromMs, { [field]: before }], [toMs, { [field]: after }]] = [from, to];
  if (before === null || after === null || after < before || toMs <= fromMs) return null;
  return ((after - before) * 1000) / (toMs - fromMs);
}

type Series = readonly (readonly [atMs: number, point: Point])[];

function rate(series: Series, field: 2 | 3, last = series.length - 1): number | null {
  const to = series[last];
  const from = series[Math.max(0, last - RATE_SAMPLES)];
  return from === undefined || to === undefined ? null : growth(from, to, field);
}

interface Drawn {
  readonly figure: Node;
  readonly place: Node;
  readonly valuesOf: (series: Series) => (number | null)[][];
  plot: { setData(data: unknown): void } | undefined;
  readonly chart: LineChart;
}

/** One region: its limiters, the charts of the chosen one, its processes and its changes. */
export class RegionPanel {
  readonly node: Node;
  readonly #path: string;
  readonly #error = el('p', { class: 'bad' });
  readonly #content = el('div');
  readonly #facts = el('dl', { class: 'tiles' });
  readonly #limiters: Table;
  readonly #processes: Table;
  readonly #changes: Table;
  readonly #noChanges = el('p', { class: 'note' }, 'None on record.');
  readonly #title = el('h3');
  readonly #charts = el('div', { class: 'charts' });
  readonly #form: ChangeForm;
  readonly #buttons = new Map<string, Node>();
  #chosen = '';
  #shown = '';
  #drawn: readonly Drawn[] = [];
  #last: { view: RegionView; samples: readonly Sample[]; nowMs: number; may: boolean } | undefined;

  constructor(path: string, make: MakeChange) {
    this.#path = path;
    this.#limiters = new Table(`Limiters of ${path}`, [
      ['Limiter', ''],
      ['Limit', 'limit'],
      ['Now', ''],
      ['Admitted', ''],
      ['Refused', 'refused'],
      ['Waiting', ''],
    ]);
    this.#processes = new Table(`Processes of ${path}`, [
      ['Process', ''],
      ['Open for', ''],
      ['State', ''],
    ]);
    this.#changes = new Table(`Changes in ${path}`, [
      ['Change', ''],
      ['At', 'text'],
      ['By', 'text'],
      ['Limiter', 'text'],
      ['What', 'text'],
      ['Values', 'text'],
      ['State', 'text'],
    ]);
    this.#form = new ChangeForm(path, make);
    this.#content.append(
      this.#facts,
      this.#limiters.node,
      this.#title,
      this.#charts,
      this.#form.node,
      el('h3', {}, 'Processes'),
      this.#processes.node,
      el('h3', {}, 'Changes by operators'),
      this.#noChanges,
      this.#changes.node,
    );
    this.node = el(
      'section',
      { 'aria-label': path },
      el('h2', {}, path),
      this.#error,
      this.#content,
    );
  }

  update(view: RegionView, samples: readonly Sample[], nowMs: number, may: boolean): void {
    this.#last = { view, samples, nowMs, may };
    write(this.#error, view.error ?? '');
    this.#error.hidden = view.error === undefined;
    this.#content.hidden = view.error !== undefined;
    if (view.error !== undefined) return;
    this.#facts.replaceChildren(
      ...view.facts.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))),
    );
    this.#showLimiters(view, samples);
    const chosen = view.limiters.find(({ name }) => name === this.#chosen) ?? view.limiters[0];
    this.#chosen = chosen?.name ?? '';
    this.#showCharts(chosen, samples, nowMs);
    this.#form.update(may ? chosen : undefined);
    this.#processes.update(
      view.processes.map(({ pid, openMs, isAlive }, i) => ({
        key: `${i}`,
        cells: [`${pid}`, timeText(openMs), isAlive ? 'alive' : 'ended'],
      })),
    );
    this.#noChanges.hidden = view.changes.length > 0;
    this.#changes.node.hidden = view.changes.length === 0;
    this.#changes.update(
      view.changes.map(({ number: count, atMs, user, pid, limiter, what, values, stage }) => ({
        key: `${count}`,
        cells: [
          `${count}`,
          new Date(atMs).toISOString().slice(0, 19).replace('T', ' '),
          `${user}, pid ${pid}`,
          ...[limiter, what, values, stage || 'made'],
        ],
      })),
    );
  }

  #seriesOf(name: string, samples: readonly Sample[]): Series {
    return samples.flatMap(({ atMs, points }) => {
      const point = points[this.#path]?.[name];
      return point === undefined ? [] : [[atMs, point] as const];
    });
  }

  #showLimiters({ limiters }: RegionView, samples: readonly Sample[]): void {
    const recent = samples.slice(-RATE_SAMPLES - 1);
    const rows = limiters.map((limiter) => {
      const series = this.#seriesOf(limiter.name, recent);
      const point = series.at(-1)?.[1] ?? NONE;
      const [admitted, refused] = [rate(series, 2), rate(series, 3)];
      return { limiter, point, admitted, refused };
    });
    this.#limiters.update(
      rows.map(({ limiter, point, admitted, refused }) => ({
        key: limiter.name,
        cells: [
          limiter.label,
          `${limiter.kind}: ${limiter.limit}`,
          levelText(limiter, point),
          ...[admitted, refused].map((each) => (each === null ? '–' : `${number(each)}/s`)),
          point[4] === null ? '–' : number(point[4]),
        ],
      })),
      (name) => this.#button(name),
    );
    for (const { limiter, refused } of rows) {
      const row = this.#limiters.row(limiter.name);
      if (row !== undefined) row.className = (refused ?? 0) > 0 ? 'refusing' : '';
      const isChosen = limiter.name === (this.#chosen || limiters[0]?.name);
      if (isChosen) row?.setAttribute('aria-current', 'true');
      else row?.removeAttribute('aria-current');
      this.#buttons.get(limiter.name)?.setAttribute('aria-pressed', `${isChosen}`);
    }
  }

  #button(name: string): Node {
    const button = el('button', { class: 'pick', type: 'button', 'aria-pressed': 'false' });
    button.addEventListener('click', () => {
      this.#chosen = name;
      if (this.#last === undefined) return;
      const { view, samples, nowMs, may } = this.#last;
      this.update(view, samples, nowMs, may);
    });
    this.#buttons.set(name, button);
    return button;
  }

  #showCharts(limiter: LimiterView | undefined, samples: readonly Sample[], nowMs: number): void {
    const series = limiter === undefined ? [] : this.#seriesOf(limiter.name, samples);
    const has = (field: number) => series.some(([, point]) => point[field] !== null);
    const kinds = [has(0), has(1), has(2), has(4)];
    const shown = JSON.stringify([limiter?.name, limiter?.unit, kinds]);
    if (shown !== this.#shown) {
      this.#shown = shown;
      write(
        this.#title,
        limiter === undefined ? 'No limiters yet' : `${limiter.label}, last 5 minutes`,
      );
      this.#drawn = limiter === undefined ? [] : chartsOf(limiter, kinds);
      this.#charts.replaceChildren(...this.#drawn.map(({ figure }) => figure));
      for (const one of this.#drawn) one.plot = draw(one.chart, one.place);
    }
    const x = series.map(([atMs]) => (atMs - nowMs) / 1000);
    for (const { plot, place, chart, valuesOf } of this.#drawn) {
      const values = valuesOf(series);
      plot?.setData([x, ...values]);
      const now = chart.series.map(
        ({ label }, i) => `${label} ${number(values[i]?.at(-1)) || '–'}`,
      );
      place.setAttribute('aria-label', `${chart.title}, now: ${now.join(', ')}`);
    }
  }
}

/** The charts of a limiter: its level, what it decides, and who waits. */
function chartsOf({ unit }: LimiterView, [hasLevel, hasMost, hasCounts, hasWaiting]: boolean[]) {
  const titles = { tokens: 'Tokens', permits: 'Permits in use', keys: 'Keys in the table', '': '' };
  const level = (field: 0 | 1 | 4) => (series: Series) => series.map(([, point]) => point[field]);
  const rates = (field: 2 | 3) => (series: Series) => series.map((_, i) => rate(series, field, i));
  return [
    ...(hasLevel
      ? [
          chartOf(titles[unit], [
            ['now', 'blue', 'area', level(0)],
            ...(hasMost ? [['most', 'grey', 'dashes', level(1)] as const] : []),
          ]),
        ]
      : []),
    ...(hasCounts
      ? [
          chartOf(
            'Calls refused, tokens admitted',
            [
              ['admitted', 'green', 'area', rates(2)],
              ['refused', 'red', 'line', rates(3)],
            ],
            '/s',
          ),
        ]
      : []),
    ...(hasWaiting ? [chartOf('Waiting callers', [['waiting', 'orange', 'area', level(4)]])] : []),
  ];
}

type Line = readonly [
  label: string,
  colour: LineChart['series'][number]['colour'],
  look: LineChart['series'][number]['look'],
  valuesOf: (series: Series) => (number | null)[],
];

function chartOf(title: string, lines: readonly Line[], unit = ''): Drawn {
  const place = el('div', { class: 'chart', role: 'img', 'aria-label': title });
  const chart: LineChart = {
    kind: 'lines',
    title,
    over: 'past',
    x: [],
    end: SHOWN_S,
    series: lines.map(([label, colour, look]) => ({ label, colour, look, values: [null, null] })),
    unit,
    isLow: true,
  };
  return {
    figure: el('figure', {}, el('figcaption', {}, title), place),
    place,
    chart,
    plot: undefined,
    valuesOf: (series) => lines.map(([, , , valuesOf]) => valuesOf(series)),
  };
}
