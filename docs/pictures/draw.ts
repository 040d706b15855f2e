// Writes its SVG by hand: a test compares it to the last character, so no charting library's next
// version may change it, and what is drawn here are two step lines and three rows of marks.

import { LENGTH_MS, type Outcome } from './scenes.ts';

const WIDTH = 760;
const HEIGHT = 290;
const LEFT = 84;
const RIGHT = WIDTH - 16;
const TOP = 42;
/** Where the counts stand at 0. */
const BASE = 192;
/** The marks of calls that were asked, admitted, refused. */
const ROWS = [207, 224, 241] as const;
const ROW_HEIGHT = 11;
const AXIS = 256;

const STYLE = `
  text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #57606a }
  .title { font: 600 12.5px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328 }
  .grid { stroke: #d8dee4; stroke-width: 1 }
  .axis { stroke: #8c959f; stroke-width: 1 }
  .asked { fill: none; stroke: #8c959f; stroke-width: 1.5; stroke-dasharray: 3 3 }
  .admitted { fill: none; stroke: #0969da; stroke-width: 2.25 }
  .area { fill: #0969da; fill-opacity: .1 }
  .ink-admitted { fill: #0969da; font-weight: 600 }
  .mark-asked { stroke: #8c959f } .mark-admitted { stroke: #0969da } .mark-refused { stroke: #cf222e }
  path[class^=mark] { stroke-width: 1.5; fill: none }
`;

function x(ms: number): number {
  return LEFT + ((RIGHT - LEFT) * ms) / LENGTH_MS;
}

function rounded(n: number): string {
  return String(Math.round(n * 10) / 10);
}

/** A line that goes one up at each instant. */
function steps(instants: readonly number[], y: (count: number) => number): string {
  const corners = instants.map((ms, index) => `H${rounded(x(ms))}V${rounded(y(index + 1))}`);
  return `M${LEFT},${BASE}${corners.join('')}H${RIGHT}`;
}

function marks(kind: string, instants: readonly number[], top: number): string {
  const lines = instants.map((ms) => `M${rounded(x(ms))},${top}v${ROW_HEIGHT}`).join('');
  return `<path class="mark-${kind}" d="${lines}"/>
<text x="${LEFT - 10}" y="${top + 10}" text-anchor="end">${kind}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** The picture: how many calls were admitted by when, beside how many were asked. */
export function draw(title: string, outcomes: readonly Outcome[]): string {
  const asked = outcomes.map(({ askedMs }) => askedMs);
  const admitted = outcomes.flatMap(({ admittedMs }) => admittedMs ?? []).sort((a, b) => a - b);
  const refused = outcomes.flatMap((o) => (o.admittedMs === undefined ? o.askedMs : []));
  const shown = admitted.filter((ms) => ms <= LENGTH_MS);
  const most = 60;
  const y = (count: number) => BASE - ((BASE - TOP) * Math.min(count, most)) / most;
  const grid = [0, 20, 40, 60].map(
    (count) => `<path class="${count === 0 ? 'axis' : 'grid'}" d="M${LEFT},${y(count)}H${RIGHT}"/>
<text x="${LEFT - 10}" y="${y(count) + 4}" text-anchor="end">${count}</text>`,
  );
  const seconds = Array.from({ length: LENGTH_MS / 1000 + 1 }, (_, second) => second);
  const axis = seconds.map(
    (second) => `<path class="grid" d="M${rounded(x(second * 1000))},${TOP}V${AXIS}"/>
<text x="${rounded(x(second * 1000))}" y="${AXIS + 17}" text-anchor="middle">${second} s</text>`,
  );
  const line = steps(shown, y);
  // The line of those asked leaves the picture at the top: the overload goes far beyond.
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">
<title>${escaped(title)}: ${admitted.length} of ${asked.length} calls admitted</title>
<style>${STYLE}</style>
<rect width="${WIDTH}" height="${HEIGHT}" rx="6" fill="#fff"/>
<text class="title" x="16" y="24">${escaped(title)}</text>
${grid.join('\n')}
${axis.join('\n')}
<path class="area" d="${line}V${BASE}H${LEFT}Z"/>
<path class="asked" d="${steps(asked.slice(0, most), y).replace(/H\d+$/, '')}"/>
<path class="admitted" d="${line}"/>
${marks('asked', asked, ROWS[0])}
${marks('admitted', shown, ROWS[1])}
${marks('refused', refused, ROWS[2])}
</svg>
`;
}
