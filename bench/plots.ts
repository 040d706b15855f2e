import type { Picture } from './report.ts';
import { PLAIN } from './variants.ts';

// Written by hand, as the pictures in docs/pictures are: two plots need no library.

const STYLE = `
  text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #57606a }
  .head { fill: #1f2328; font-weight: 600 }
  .grid { stroke: #d8dee4; stroke-width: 1 }
  .line { fill: none; stroke-width: 1.5 }
  .plain { stroke-width: 3 }
  .requests { fill: #4c78a8; fill-opacity: .25; stroke: #4c78a8; stroke-width: 1.5 }
`;
const LEFT = 84;
const TOP = 42;

/** Peers differ in both: the numbers of colours and marks have no common divisor. */
const COLOURS = [
  ...['#4c78a8', '#9ecae9', '#f58518', '#ffbf79', '#54a24b', '#88d27a', '#b79a20'],
  ...['#f2cf5b', '#439894', '#83bcb6', '#e45756', '#ff9d98', '#79706e'],
];
/** Paths around a point. */
const MARKS = ['m-4,-4h8v8h-8z', 'm0,-5l5,9h-10z', 'm0,-5l5,5l-5,5l-5,-5z', 'm0,5l5,-9h-10z'];

const compact = new Intl.NumberFormat('en-US', { notation: 'compact' });

function rounded(n: number): string {
  return String(Math.round(n * 10) / 10);
}

function text(words: string, x: number, y: number, anchor: 'start' | 'middle' | 'end', kind = '') {
  const escaped = words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text class="${kind}" x="${rounded(x)}" y="${rounded(y)}" text-anchor="${anchor}">${escaped}</text>`;
}

function picture(
  name: string,
  alt: string,
  width: number,
  height: number,
  parts: readonly string[],
): Picture {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${alt}</title>
<style>${STYLE}</style>
<rect width="${width}" height="${height}" rx="6" fill="#fff"/>
${parts.join('\n')}
</svg>
`;
  return { name, alt, svg };
}

/** Calls per second of all threads of a peer together. */
export interface Throughput {
  readonly peer: string;
  readonly load: string;
  readonly threads: number;
  readonly callsPerSecond: number;
}

/** Calls per second by number of threads on a logarithmic scale, for each load. */
export function plotThroughput(points: readonly Throughput[]): Picture {
  const [width, height, gap] = [190, 300, 20];
  // The order of the table.
  const peers = [...new Set(points.map(({ peer }) => peer))];
  const loads = [...new Set(points.map(({ load }) => load))];
  const counts = [...new Set(points.map(({ threads }) => threads))];
  const powers = points.map(({ callsPerSecond }) => Math.log10(callsPerSecond));
  const least = Math.floor(Math.min(...powers));
  const most = Math.ceil(Math.max(...powers));
  const y = (n: number) => TOP + (height * (most - Math.log10(n))) / (most - least);
  const levels = Array.from({ length: most - least + 1 }, (_, power) => 10 ** (least + power));

  const panels = loads.map((load, at) => {
    const left = LEFT + at * (width + gap);
    const x = (threads: number) => left + (width * (counts.indexOf(threads) + 0.5)) / counts.length;
    const lines = peers.map((peer, index) => {
      const own = points.filter((point) => point.load === load && point.peer === peer);
      const places = own.map(
        (one) => `${rounded(x(one.threads))},${rounded(y(one.callsPerSecond))}`,
      );
      const colour = COLOURS[index % COLOURS.length];
      const marks = places.map((place) => `M${place}${MARKS[index % MARKS.length]}`).join('');
      return `<path class="line ${peer === PLAIN.name ? 'plain' : ''}" stroke="${colour}" d="M${places.join('L')}"/>
<path fill="${colour}" d="${marks}"/>`;
    });
    const grid = levels.map((n) => `<path class="grid" d="M${left},${rounded(y(n))}h${width}"/>`);
    const names = counts.map((n) => text(String(n), x(n), TOP + height + 18, 'middle'));
    const middle = left + width / 2;
    const head = text(load, middle, TOP - 14, 'middle', 'head');
    return [
      head,
      ...grid,
      ...names,
      text('threads', middle, TOP + height + 38, 'middle'),
      ...lines,
    ];
  });
  const right = LEFT + loads.length * (width + gap);
  const legend = peers.flatMap((peer, index) => {
    const below = TOP + 8 + index * 18;
    const mark = `M${right},${below}${MARKS[index % MARKS.length]}`;
    return [
      `<path fill="${COLOURS[index % COLOURS.length]}" d="${mark}"/>`,
      text(peer, right + 12, below + 4, 'start'),
    ];
  });
  const alt = 'Calls per second on one shared bucket by number of threads, for each peer';
  return picture('throughput-by-threads', alt, right + 260, TOP + height + 52, [
    text('calls per second', 16, 20, 'start'),
    ...levels.map((n) => text(compact.format(n), LEFT - 10, y(n) + 4, 'end')),
    ...panels.flat(),
    ...legend,
  ]);
}

/** The number of requests in one time slice. */
export interface Slice {
  readonly generator: string;
  readonly seconds: number;
  readonly requests: number;
}

/** The arrivals at the server over time, one generator above the other. */
export function plotAdmissions(slices: readonly Slice[], sliceMs: number): Picture {
  const [width, height, gap] = [640, 120, 46];
  const generators = [...new Set(slices.map(({ generator }) => generator))];
  const ends = slices.map(({ seconds }) => seconds + sliceMs / 1_000);
  const lastSecond = Math.ceil(Math.max(...ends));
  const highest = Math.max(1, ...slices.map(({ requests }) => requests));
  const step = 10 ** Math.floor(Math.log10(highest));
  const most = Math.ceil(highest / step) * step;
  const levels = Array.from({ length: most / step + 1 }, (_, level) => level * step);
  const x = (seconds: number) => LEFT + (width * seconds) / lastSecond;

  const panels = generators.map((generator, at) => {
    const base = TOP + at * (height + gap) + height;
    const y = (requests: number) => base - (height * requests) / most;
    const own = slices.filter((slice) => slice.generator === generator);
    const steps = own.map(
      ({ seconds, requests }) =>
        `V${rounded(y(requests))}H${rounded(x(seconds + sliceMs / 1_000))}`,
    );
    return [
      text(generator, LEFT + width / 2, base - height - 14, 'middle', 'head'),
      ...levels.flatMap((n) => [
        `<path class="grid" d="M${LEFT},${rounded(y(n))}h${width}"/>`,
        text(n.toLocaleString('en-US'), LEFT - 10, y(n) + 4, 'end'),
      ]),
      `<path class="requests" d="M${LEFT},${base}${steps.join('')}V${base}Z"/>`,
    ];
  });
  const bottom = TOP + generators.length * (height + gap) - gap;
  const seconds = Array.from({ length: lastSecond + 1 }, (_, second) => second);
  const alt = `Requests that came to the server in each ${sliceMs} ms, for each load generator`;
  return picture('admissions-over-time', alt, LEFT + width + 20, bottom + 32, [
    text(`requests in ${sliceMs} ms`, 16, 20, 'start'),
    ...seconds.map((second) => text(`${second} s`, x(second), bottom + 18, 'middle')),
    ...panels.flat(),
  ]);
}
