// A region on the page of `zerotime host serve`: runs in the browser.

import { type ComponentChild, h } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatSpan } from '../../../format.ts';
import { draw } from '../../../report/charts.ts';
import type { Chart, Series as Line } from '../../../report/page.ts';
import type { LimiterView, Point, RegionView, Sample } from '../view.ts';
import { ChangeForm, type MakeChange } from './change-form.ts';

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

/** A row of a table: the first cell is its head. */
interface Row {
  readonly key: string;
  readonly cells: readonly ComponentChild[];
  readonly attributes?: object;
}

/** @param columns their heads and classes */
function table(
  label: string,
  columns: readonly (readonly [name: string, look?: string])[],
  rows: readonly Row[],
): ComponentChild {
  const heads = columns.map(([name, look]) => h('th', { scope: 'col', class: look }, name));
  const body = rows.map(({ key, cells: [first, ...others], attributes }) => {
    const cells = others.map((cell, at) => {
      const [name, look] = columns[at + 1] ?? [];
      return h('td', { 'data-name': name, class: look }, cell);
    });
    return h('tr', { key, ...attributes }, h('th', { scope: 'row' }, first), cells);
  });
  const content = [h('thead', {}, h('tr', {}, heads)), h('tbody', {}, body)];
  return h('div', { class: 'wide' }, h('table', { 'aria-label': label }, content));
}

interface PanelProps {
  readonly view: RegionView;
  readonly samples: readonly Sample[];
  readonly nowMs: number;
  /** Whether the reader may change limits. */
  readonly may: boolean;
  readonly make: MakeChange;
}

/** One region: its limiters, the charts of the chosen one, its processes and its changes. */
export function RegionPanel({ view, samples, nowMs, may, make }: PanelProps): ComponentChild {
  const [picked, pick] = useState('');
  const { path, error, facts, limiters, changes } = view;
  const chosen = limiters.find(({ name }) => name === picked) ?? limiters[0];
  // It stays the chosen one if another becomes the first.
  if (chosen !== undefined && chosen.name !== picked) pick(chosen.name);
  const seriesOf = ({ name }: LimiterView): Series =>
    samples.flatMap(({ atMs, points }) => {
      const point = points[path]?.[name];
      return point === undefined ? [] : [[atMs, point] as const];
    });
  return h(
    'section',
    { 'aria-label': path },
    h('h2', {}, path),
    error !== undefined && h('p', { class: 'bad' }, error),
    h(
      'div',
      { hidden: error !== undefined },
      h(
        'dl',
        { class: 'tiles' },
        facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
      ),
      table(
        `Limiters of ${path}`,
        [
          ['Limiter'],
          ['Limit', 'limit'],
          ['Now'],
          ['Admitted'],
          ['Refused', 'refused'],
          ['Waiting'],
        ],
        limiters.map((one) => limiterRow(one, seriesOf(one), one === chosen, pick)),
      ),
      h('h3', {}, chosen === undefined ? 'No limiters yet' : `${chosen.label}, last 5 minutes`),
      h('div', { class: 'charts' }, chosen && chartsOf(chosen, seriesOf(chosen), nowMs)),
      h(ChangeForm, { path, limiter: may ? chosen : undefined, make }),
      h('h3', {}, 'Processes'),
      table(
        `Processes of ${path}`,
        [['Process'], ['Open for'], ['State']],
        view.processes.map(({ pid, openMs, isAlive }, at) => ({
          key: `${at}`,
          cells: [
            `${pid}`,
            formatSpan(1000 * Math.round(openMs / 1000)),
            isAlive ? 'alive' : 'ended',
          ],
        })),
      ),
      h('h3', {}, 'Changes by operators'),
      changes.length === 0 ? h('p', { class: 'note' }, 'None on record.') : changeTable(view),
    ),
  );
}

function limiterRow(
  limiter: LimiterView,
  series: Series,
  isChosen: boolean,
  pick: (name: string) => void,
): Row {
  const { name, label, kind, limit } = limiter;
  const point = series.at(-1)?.[1] ?? NONE;
  const [admitted, refused] = [rate(series, 2), rate(series, 3)];
  const look = { type: 'button', class: 'pick', 'aria-pressed': isChosen };
  return {
    key: name,
    attributes: {
      class: (refused ?? 0) > 0 ? 'refusing' : '',
      'aria-current': isChosen ? 'true' : undefined,
    },
    cells: [
      h('button', { ...look, onClick: () => pick(name) }, label),
      `${kind}: ${limit}`,
      levelText(limiter, point),
      ...[admitted, refused].map((each) => (each === null ? '–' : `${number(each)}/s`)),
      point[4] === null ? '–' : number(point[4]),
    ],
  };
}

function changeTable({ path, changes }: RegionView): ComponentChild {
  const texts = ['At', 'By', 'Limiter', 'What', 'Values', 'State'];
  return table(
    `Changes in ${path}`,
    [['Change'], ...texts.map((name) => [name, 'text'] as const)],
    changes.map(({ number: count, atMs, user, pid, limiter, what, values, stage }) => ({
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

const TITLES = { tokens: 'Tokens', permits: 'Permits in use', keys: 'Keys in the table', '': '' };

/** The charts of a limiter: its level, its decisions and its waiting callers. */
function chartsOf({ name, unit }: LimiterView, series: Series, nowMs: number): ComponentChild[] {
  const has = (field: number) => series.some(([, point]) => point[field] !== null);
  const level = (field: 0 | 1 | 4) => series.map(([, point]) => point[field]);
  const rates = (field: 2 | 3) => series.map((_, at) => rate(series, field, at));
  const x = series.map(([atMs]) => (atMs - nowMs) / 1000);
  const chart = (title: string, lines: readonly Line[], of = '') => {
    // A chart has its lines from the start.
    const key = [name, title, ...lines.map(({ label }) => label)].join();
    return h(LiveChart, { key, title, lines, x, unit: of });
  };
  const now: Line = { label: 'now', colour: 'blue', look: 'area', values: level(0) };
  const most: Line = { label: 'most', colour: 'grey', look: 'dashes', values: level(1) };
  const decided: Line[] = [
    { label: 'admitted', colour: 'green', look: 'area', values: rates(2) },
    { label: 'refused', colour: 'red', look: 'line', values: rates(3) },
  ];
  const waiting: Line = { label: 'waiting', colour: 'orange', look: 'area', values: level(4) };
  return [
    has(0) && chart(TITLES[unit], has(1) ? [now, most] : [now]),
    has(2) && chart('Calls refused, tokens admitted', decided, '/s'),
    has(4) && chart('Waiting callers', [waiting]),
  ];
}

interface ChartProps extends Pick<Chart, 'title' | 'x' | 'unit'> {
  readonly lines: readonly Line[];
}

function LiveChart({ title, lines, x, unit }: ChartProps): ComponentChild {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<{ setData(data: unknown): void }>();
  useLayoutEffect(() => {
    const series = lines.map((line) => ({ ...line, values: [null, null] }));
    const look = { over: 'past', end: SHOWN_S, isLow: true } as const;
    if (place.current) plot.current = draw({ ...look, title, x: [], series, unit }, place.current);
  }, []);
  useLayoutEffect(() => plot.current?.setData([x, ...lines.map(({ values }) => values)]));
  const now = lines.map(({ label, values }) => `${label} ${number(values.at(-1)) || '–'}`);
  const name = `${title}, now: ${now.join(', ')}`;
  return h(
    'figure',
    {},
    h('figcaption', {}, title),
    h('div', { class: 'chart', role: 'img', 'aria-label': name, ref: place }),
  );
}
