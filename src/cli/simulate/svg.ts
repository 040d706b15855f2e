import type { SimulateResult } from '../../simulate/run.ts';
import { formatNumber, formatSpan } from '../format.ts';
import { escaped } from '../report/render.ts';
import { type Course, coursesOf, type RatesByTime, ratesByTime } from './outcome.ts';
import { cellsOf, columnsOf, describeArrivals } from './summary.ts';

// Hand-written SVG: three step lines per limiter, or its course, and identical output for the same arguments.

const WIDTH = 760;
const LEFT = 72;
const RIGHT = WIDTH - 20;
/** Height above the first panel. */
const HEAD = 58;
const PANEL = 212;
/** Offset from the top of a panel. */
const TOP = 50;
const BASE = 174;

const STYLE = `
  text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #57606a }
  .title { font: 600 12.5px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328 }
  .grid { stroke: #d8dee4; stroke-width: 1 }
  .axis { stroke: #8c959f; stroke-width: 1 }
  .arrivals { fill: #8c959f; fill-opacity: .28 }
  .admitted { fill: #0969da; fill-opacity: .38 }
  .line { fill: none; stroke: #0969da; stroke-width: 1.25 }
  .course { fill: none; stroke-width: 1.5 }
  .bound { fill: none; stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 6 4 }
`;

/** Steps of a time axis, in seconds. */
const TIME_STEPS = [
  1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 43_200,
];
const MOST_TIME_STEPS = 8;

/**
 * The arrivals, admissions and bound of each limiter, stacked. If a limiter adapts, its course beside
 * the others.
 */
export function drawSvg(result: SimulateResult): string {
  const courses = coursesOf(result);
  return courses.length > 0 ? drawCourses(result, courses) : drawBounds(result);
}

function drawBounds(result: SimulateResult): string {
  const { rates, top } = ratesByTime(result);
  const height = HEAD + rates.length * PANEL + 8;
  const panels = rates.map((one, at) => {
    const columns = columnsOf(result);
    const said = cellsOf(one.limiter, result)
      .map((cell, column) => `${columns[column]} ${cell.replaceAll(/ +/g, ' ')}`)
      .filter((words) => !/^p99| 0 0\.0 %$| -$/.test(words))
      .join(', ');
    return panel(one, said, top, HEAD + at * PANEL);
  });
  return page(result, 'arrivals, admissions and bounds', height, [
    `<text x="16" y="45">${escaped(`arrivals: ${describeArrivals(result)}`)}</text>`,
    legend(),
    ...panels,
  ]);
}

function page(
  { source }: SimulateResult,
  shows: string,
  height: number,
  parts: readonly string[],
): string {
  const seed = source.seed === undefined ? '' : `, seed ${source.seed}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
<title>${escaped(`${source.text}: ${shows}`)}</title>
<style>${STYLE}</style>
<rect width="${WIDTH}" height="${height}" rx="6" fill="#fff"/>
<text class="title" x="16" y="26">${escaped(`${source.text}${seed}`)}</text>
${parts.join('\n')}
</svg>
`;
}

/** Height of a line of the legend. */
const LEGEND_LINE = 19;

function drawCourses(result: SimulateResult, courses: readonly Course[]): string {
  const { limiters, server = '', durationMs } = result;
  const head = HEAD + limiters.length * LEGEND_LINE;
  const keys = limiters.map(({ text }, at) => {
    const y = HEAD + at * LEGEND_LINE + 6;
    return `<path class="course" stroke="${colourOf(at)}" d="M16,${y - 4}h24"/>
<text x="46" y="${y}">${escaped(text)}</text>`;
  });
  const panels = courses.map((one, at) => coursePanel(one, durationMs / 1_000, head + at * PANEL));
  const bottom = head + courses.length * PANEL + 8;
  return page(result, 'permits, response times and responses', bottom, [
    `<text x="16" y="45">${escaped(`server: ${server}`)}</text>`,
    ...keys,
    ...panels,
  ]);
}

const COLOURS = ['#0969da', '#bc4c00', '#8c959f', '#1a7f37', '#8250df', '#cf222e'];

function colourOf(at: number): string {
  return COLOURS[at % COLOURS.length] ?? '';
}

function coursePanel({ title, unit, lines, top }: Course, seconds: number, at: number): string {
  const { grid, base, x, y, ceiling } = axes(top, seconds, at, unit);
  const paths = lines.map((points, line) => {
    // A line beyond the panel continues at its edge.
    const path = points.map(([second, value]) => `${x(second)},${y(Math.min(value, ceiling))}`);
    return path.length < 2
      ? ''
      : `<path class="course" stroke="${colourOf(line)}" d="M${path.join('L')}"/>`;
  });
  return `<text class="title" x="16" y="${at + 36}">${escaped(title)}</text>
${grid}
${timeAxis(seconds, x, base)}
${paths.filter(Boolean).join('\n')}`;
}

function legend(): string {
  const y = 45;
  const x = RIGHT - 262;
  return `<rect class="arrivals" x="${x}" y="${y - 9}" width="14" height="10"/>
<text x="${x + 20}" y="${y}">arrivals</text>
<rect class="admitted" x="${x + 82}" y="${y - 9}" width="14" height="10"/>
<text x="${x + 102}" y="${y}">admitted</text>
<path class="bound" d="M${x + 172},${y - 4}h24"/>
<text x="${x + 202}" y="${y}">bound</text>`;
}

function panel(rates: RatesByTime, said: string, highest: number, top: number): string {
  const { limiter, slotSeconds, arrivals, admitted, bound, isBoundNear } = rates;
  const seconds = arrivals.length * slotSeconds;
  const { grid, base, x, y } = axes(highest * 1.02, seconds, top, '/s');
  const outline = (values: readonly number[]) =>
    values.map((rate, at) => `V${y(rate)}H${x((at + 1) * slotSeconds)}`).join('');
  const most = `${formatNumber(bound)}/s in ${formatSpan(slotSeconds * 1_000)}`;
  return `<text class="title" x="16" y="${top + 18}">${escaped(limiter.text)}</text>
<text x="16" y="${top + 36}">${escaped(said)}</text>
${grid}
${timeAxis(seconds, x, base)}
<path class="arrivals" d="M${LEFT},${base}${outline(arrivals)}V${base}Z"/>
<path class="admitted" d="M${LEFT},${base}${outline(admitted)}V${base}Z"/>
<path class="line" d="M${LEFT},${base}${outline(admitted)}"/>
${
  isBoundNear
    ? `<path class="bound" d="M${LEFT},${y(bound)}H${RIGHT}"><title>${escaped(most)}</title></path>`
    : `<text x="${RIGHT - 4}" y="${top + TOP + 12}" text-anchor="end">bound: ${escaped(most)}</text>`
}`;
}

/** The scales of a panel that begins at `top`, and its horizontal lines. */
function axes(least: number, seconds: number, top: number, unit: string) {
  const step = niceStep(least / 4);
  const ceiling = step * Math.max(1, Math.ceil(least / step));
  const base = top + BASE;
  const y = (value: number) => rounded(base - ((BASE - TOP) * value) / ceiling);
  // A file with one timestamp takes no time.
  const x = (second: number) => rounded(LEFT + ((RIGHT - LEFT) * second) / (seconds || 1));
  const levels = Array.from({ length: Math.round(ceiling / step) + 1 }, (_, at) => at * step);
  const grid = levels
    .map(
      (value) => `<path class="${value === 0 ? 'axis' : 'grid'}" d="M${LEFT},${y(value)}H${RIGHT}"/>
<text x="${LEFT - 8}" y="${Number(y(value)) + 4}" text-anchor="end">${formatNumber(value)}${unit}</text>`,
    )
    .join('\n');
  return { grid, base, x, y, ceiling };
}

function timeAxis(seconds: number, x: (second: number) => string, base: number): string {
  const days = 86_400 * Math.ceil(seconds / 86_400 / MOST_TIME_STEPS);
  const step =
    seconds <= 2
      ? niceStep(seconds / 6)
      : (TIME_STEPS.find((each) => seconds / each <= MOST_TIME_STEPS) ?? days);
  const count = Math.floor(seconds / step + 1e-9);
  return Array.from({ length: count + 1 }, (_, at) => {
    const label = formatSpan(Math.round(at * step * 1e6) / 1e3);
    const anchor = at === 0 ? 'start' : at * step > seconds * 0.96 ? 'end' : 'middle';
    return `<text x="${x(at * step)}" y="${base + 17}" text-anchor="${anchor}">${at === 0 ? '0' : label}</text>`;
  }).join('\n');
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
function niceStep(least: number): number {
  if (!(least > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5].find((each) => each * power >= least) ?? 10;
  return factor * power;
}

function rounded(n: number): string {
  return String(Math.round(n * 10) / 10);
}
