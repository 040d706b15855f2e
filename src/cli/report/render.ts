import { readFileSync } from 'node:fs';
import { beside } from '../../load/beside.ts';
import { safeData } from '../../load/plan/redact.ts';
import { formatCount, formatShare } from '../format.ts';
import type { Chart, Facts, Page, Section, Table, Verdict } from './page.ts';
import { STYLE } from './style.ts';

const UPLOT = beside('uplot.js');
const UPLOT_STYLE = beside('uplot.css');
const CHARTS = beside('charts.js');

/** Escapes text for an element or a quoted attribute, in HTML and in SVG. */
export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** A self-contained page: it loads nothing, and its policy forbids loading anything. */
export function renderPage(content: Page): string {
  const page = safeData(content);
  const charts = page.sections.flatMap((section) => inOrder(section.charts));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${escaped(page.title)}</title>
<style>${readFileSync(UPLOT_STYLE, 'utf8')}</style>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escaped(page.title)}</h1>
${renderVerdict(page.verdicts)}
<dl class="tiles">${renderFacts(page.facts)}</dl>
${page.sections.map(renderSection).join('\n')}
<section>
<h2>This run</h2>
<dl class="about">${renderFacts(page.circumstances)}</dl>
</section>
<footer>${escaped(page.footer)}</footer>
</main>
<script type="application/json" id="charts">${dataOf(charts)}</script>
<script>${readFileSync(UPLOT, 'utf8')}</script>
<script type="module">${readFileSync(CHARTS, 'utf8')}</script>
</body>
</html>
`;
}

/** Escapes data so that no text in it can end the script element. */
function dataOf(charts: readonly Chart[]): string {
  return JSON.stringify(charts).replaceAll('<', '\\u003c');
}

function renderVerdict(verdicts: readonly Verdict[]): string {
  if (verdicts.length === 0) return '';
  const kind = verdicts.every(({ isGood }) => isGood) ? 'good' : 'bad';
  return `<section class="verdict ${kind}">
${renderVerdicts(verdicts)}
</section>`;
}

function renderVerdicts(verdicts: readonly Verdict[]): string {
  return verdicts
    .map(({ isGood, isNote, text }) => {
      const kind = isNote === true ? 'note' : isGood ? 'good' : 'bad';
      return `<p class="${kind}">${escaped(text)}</p>`;
    })
    .join('\n');
}

function renderFacts(facts: Facts): string {
  return facts
    .map(([name, value]) => `<div><dt>${escaped(name)}</dt><dd>${escaped(value)}</dd></div>`)
    .join('');
}

function renderSection({ heading, verdicts, table, shares, charts, notes = [] }: Section): string {
  return `<section>
<h2>${escaped(heading)}</h2>
${renderVerdicts(verdicts)}
${table === undefined ? '' : renderTable(table)}
${shares === undefined ? '' : renderShares(shares)}
${renderCharts(charts)}
${notes.map((note) => `<p class="note">${escaped(note)}</p>`).join('\n')}
</section>`;
}

function isByTime(chart: Chart): boolean {
  return chart.over === 'time';
}

/** Charts in the order of the page. */
function inOrder(charts: readonly Chart[]): Chart[] {
  return [...charts.filter(isByTime), ...charts.filter((chart) => !isByTime(chart))];
}

/** Charts over time take the full width; others go side by side in pairs. */
function renderCharts(charts: readonly Chart[]): string {
  const byTime = charts.filter(isByTime);
  const others = charts.filter((chart) => !isByTime(chart));
  const pair =
    others.length === 0 ? '' : `<div class="pair">${others.map(renderChart).join('')}</div>`;
  return [...byTime.map(renderChart), pair].join('\n');
}

function renderChart({ title }: Chart): string {
  const name = escaped(title);
  return `<figure><figcaption>${name}</figcaption><div class="chart" role="img" aria-label="${name}"></div></figure>`;
}

function renderTable({ columns, rows }: Table): string {
  const head = columns.map((column) => `<th>${escaped(column)}</th>`).join('');
  const body = rows.map(([name = '', ...cells]) => {
    // On a phone, the column's name is shown beside each cell.
    const rest = cells
      .map((cell, at) => `<td data-name="${escaped(columns[at + 1] ?? '')}">${escaped(cell)}</td>`)
      .join('');
    return `<tr><th>${escaped(name)}</th>${rest}</tr>`;
  });
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table></div>`;
}

function renderShares(shares: NonNullable<Section['shares']>): string {
  const whole = shares.reduce((sum, { count }) => sum + count, 0);
  const most = Math.max(1, ...shares.map(({ count }) => count));
  const rows = shares.map(
    ({ name, count }) =>
      `<tr><th title="${escaped(name)}">${escaped(name)}</th><td>${formatCount(count)}</td><td>${formatShare(count, whole)}</td>` +
      `<td class="share"><div style="width:${((100 * count) / most).toFixed(2)}%"></div></td></tr>`,
  );
  return `<table class="parts"><tbody>${rows.join('')}</tbody></table>`;
}
