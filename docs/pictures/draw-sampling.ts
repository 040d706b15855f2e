// Writes its SVG by hand, like draw.ts: a test compares it to the last character.

import { RATE, type SamplingResult, type SamplingScene, SECONDS, sumOf } from './sampling.ts';

const WIDTH = 760;
const HEIGHT = 222;
const PANEL_WIDTH = 204;
const LEFTS = [46, 292, 538] as const;
const TOP = 62;
const BASE = 188;

const STYLE = `
  text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #57606a }
  .title { font: 600 12.5px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328 }
  .head { fill: #1f2328; font-weight: 600 }
  .grid { stroke: #d8dee4; stroke-width: 1 }
  .axis { stroke: #8c959f; stroke-width: 1 }
  .made { fill: #8c959f; fill-opacity: .32 }
  .kept { fill: #bf8700; fill-opacity: .55 }
  .counted { fill: none; stroke: #0969da; stroke-width: 1.75 }
  .bound { fill: none; stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 6 4 }
`;

/** A part of the picture, whose values are drawn from its left. */
interface Panel {
  readonly left: number;
  readonly head: string;
  /** The value at the top, above which nothing is drawn. */
  readonly most: number;
  readonly levels: readonly number[];
}

const KEPT: Panel = {
  left: LEFTS[0],
  head: 'kept each second',
  most: 600,
  levels: [0, 200, 400, 600],
};
const HOT: Panel = {
  left: LEFTS[1],
  head: 'hot: each second',
  most: 24_000,
  levels: [0, 8000, 16_000, 24_000],
};
const RARE: Panel = {
  left: LEFTS[2],
  head: 'rare: so far',
  most: 300,
  levels: [0, 100, 200, 300],
};

function rounded(n: number): string {
  return String(Math.round(n * 10) / 10);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function x({ left }: Panel, second: number): string {
  return rounded(left + (PANEL_WIDTH * second) / SECONDS);
}

function y({ most }: Panel, value: number): string {
  return rounded(BASE - ((BASE - TOP) * Math.min(value, most)) / most);
}

function frame(panel: Panel): string {
  const { left, head, levels } = panel;
  const grid = levels.map((level) => {
    const at = y(panel, level);
    return `<path class="${level === 0 ? 'axis' : 'grid'}" d="M${left},${at}h${PANEL_WIDTH}"/>
<text x="${left - 6}" y="${Number(at) + 4}" text-anchor="end">${level >= 1000 ? `${level / 1000}k` : level}</text>`;
  });
  const axis = [0, 20, 40, 60].map(
    (second) =>
      `<text x="${x(panel, second)}" y="${BASE + 17}" text-anchor="middle">${second} s</text>`,
  );
  return [`<text class="head" x="${left}" y="${TOP - 10}">${head}</text>`, ...grid, ...axis].join(
    '\n',
  );
}

/** Steps, one for each second. */
function outline(panel: Panel, values: readonly number[]): string {
  const steps = values.map((value, second) => `V${y(panel, value)}H${x(panel, second + 1)}`);
  return `M${panel.left},${BASE}${steps.join('')}`;
}

function area(panel: Panel, kind: string, values: readonly number[]): string {
  return `<path class="${kind}" d="${outline(panel, values)}V${BASE}Z"/>`;
}

function line(panel: Panel, values: readonly number[]): string {
  return `<path class="counted" d="${outline(panel, values)}"/>`;
}

function cumulative(values: readonly number[]): number[] {
  let sum = 0;
  return values.map((value) => {
    sum += value;
    return sum;
  });
}

/** The picture of a sampler: what it keeps, and what its counts say of a hot and a rare operation. */
export function drawSampling({ title }: SamplingScene, { hot, rare }: SamplingResult): string {
  const kept = hot.kept.map((count, second) => count + (rare.kept[second] ?? 0));
  const said = `${sumOf(kept)} of ${sumOf(hot.made) + sumOf(rare.made)} spans kept`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">
<title>${escaped(title)}: ${said}</title>
<style>${STYLE}</style>
<rect width="${WIDTH}" height="${HEIGHT}" rx="6" fill="#fff"/>
<text class="title" x="16" y="26">${escaped(title)}</text>
${[KEPT, HOT, RARE].map(frame).join('\n')}
${area(KEPT, 'kept', kept)}
<path class="bound" d="M${KEPT.left},${y(KEPT, RATE)}h${PANEL_WIDTH}"/>
${area(HOT, 'made', hot.made)}
${line(HOT, hot.counted)}
${area(RARE, 'made', cumulative(rare.made))}
${area(RARE, 'kept', cumulative(rare.kept))}
${line(RARE, cumulative(rare.counted))}
</svg>
`;
}
