import { readFileSync, writeFileSync } from 'node:fs';
import { type CpuInfo, cpus } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { markdownTable } from 'markdown-table';

/** An aim and its measurement. A missed aim fails nothing. */
export interface AimRow {
  readonly measure: string;
  readonly measured: string;
  readonly aim: string;
}

/** An image in docs/images. */
export interface Picture {
  /** File name without extension. */
  readonly name: string;
  readonly alt: string;
  readonly svg: string;
}

/** A chapter of the report: the results of one part of the bench. */
export interface Section {
  readonly title: string;
  /** How to read the table, in Markdown. */
  readonly text: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly aims?: readonly AimRow[];
  readonly pictures?: readonly Picture[];
  /** Versions of the measured programs. */
  readonly versions?: readonly string[];
}

/** A Markdown table with numeric columns aligned to the right. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const isNumeric = (column: number) => rows.every((row) => /^([\d-]|$)/.test(row[column] ?? ''));
  const align = head.map((_, column) => (isNumeric(column) ? 'r' : 'l'));
  return markdownTable([head, ...rows], { align });
}

/** The chapter without its aims and pictures. */
export function markdownOf({ title, text, head, rows }: Section): string {
  return `## ${title}\n\n${text}\n\n${tableOf(head, rows)}`;
}

/** The aims and their measurements. */
export function markdownOfAims(aims: readonly AimRow[]): string {
  const rows = aims.map(({ measure, measured, aim }) => [measure, measured, aim]);
  return `A missed aim fails no check.\n\n${tableOf(['measure', 'measured', 'aim'], rows)}`;
}

const BEGIN = '<!-- Measured: written by npm run bench -- --report. -->';
const END = '<!-- End of what was measured. -->';

// Relative to dist/bench.
const PAGE = new URL('../../docs/performance.md', import.meta.url);
const IMAGES = new URL('../../docs/images/', import.meta.url);

/** A part's chapter of the page. Pictures are in the folder `images` beside the page. */
export function renderChapter(command: string, machine: string, section: Section): string {
  const { aims = [], pictures = [], versions = [] } = section;
  return [
    markdownOf(section),
    ...(aims.length > 0 ? [markdownOfAims(aims)] : []),
    ...pictures.map(({ name, alt }) => `![${alt}](images/${name}.svg)`),
    `\`${command}\`, on ${machine}`,
    ...(versions.length > 0 ? [`Compared with: ${versions.join('; ')}.`] : []),
  ].join('\n\n');
}

/**
 * Puts a part's chapter into the measured part of the page, in the order of all parts, and keeps the
 * rest.
 *
 * @throws Error if the page lacks the markers of the measured part.
 */
export function putChapter(
  page: string,
  parts: readonly string[],
  part: string,
  chapter: string,
): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin === -1 || end < begin) {
    throw new Error(`the page must have a line ${BEGIN} and, after it, a line ${END}`);
  }
  const measured = page.slice(begin + BEGIN.length, end);
  const chapters = new Map<string | undefined, string>();
  for (const [, name, text = ''] of measured.matchAll(/<!-- (\w+) -->\s*(.*?)\s*(?=<!-- |$)/gs)) {
    chapters.set(name, text);
  }
  chapters.set(part, chapter);
  const written = parts
    .filter((name) => chapters.has(name))
    .map((name) => `<!-- ${name} -->\n\n${chapters.get(name)}\n\n`);
  return `${page.slice(0, begin)}${BEGIN}\n\n${written.join('')}${page.slice(end)}`;
}

/** Writes a part's chapter into docs/performance.md, and its pictures beside it. */
export function writeChapter(
  parts: readonly string[],
  part: string,
  chapter: string,
  { pictures = [] }: Section,
): void {
  writeFileSync(PAGE, putChapter(readFileSync(PAGE, 'utf8'), parts, part, chapter));
  for (const { name, svg } of pictures) writeFileSync(new URL(`${name}.svg`, IMAGES), svg);
}

/** Above this share of busy processor time, other programs may distort the figures. */
const BUSY_SHARE = 0.1;
/** The build just before raises the load average for minutes, so this looks for itself. */
const LOOK_MS = 3000;

/** Describes the machine, and what else it does before the measurements. */
export async function describeMachine(): Promise<string> {
  const idleMs = (at: CpuInfo[]) => at.reduce((sum, { times }) => sum + times.idle, 0);
  const [began, before] = [performance.now(), cpus()];
  await setTimeout(LOOK_MS);
  const processors = cpus();
  const available = (performance.now() - began) * processors.length;
  const busy = Math.max(0, 1 - (idleMs(processors) - idleMs(before)) / available);
  const machine =
    `Node.js ${process.version}, V8 ${process.versions.v8}, ${process.platform} ${process.arch}, ` +
    `${processors.length} processors (${processors[0]?.model ?? 'unknown'}), ` +
    `${(100 * busy).toFixed(1)} % of their time taken by other programs, ` +
    `${new Date().toISOString().slice(0, 10)}.`;
  const warning = ' The machine was busy: trust the ratios, not the times.';
  return busy > BUSY_SHARE ? machine + warning : machine;
}
