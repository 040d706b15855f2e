import { readFileSync, writeFileSync } from 'node:fs';
import { markdownOf, markdownOfAims, type Section } from './section.ts';

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
