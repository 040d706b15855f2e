import { readFileSync, writeFileSync } from 'node:fs';
import { aimsOf, markdownOf, type Section } from './section.ts';

const BEGIN = '<!-- Measured: written by npm run bench -- --report. -->';
const END = '<!-- End of what was measured. -->';

// Relative to dist/bench.
const PAGE = new URL('../../docs/performance.md', import.meta.url);
const IMAGES = new URL('../../docs/images/', import.meta.url);

/** The whole report, ratios first. Pictures are in the folder `images` beside the page. */
export function renderReport(
  command: string,
  machine: string,
  sections: readonly Section[],
): string {
  const versions = new Set(sections.flatMap((section) => section.versions ?? []));
  const parts = [
    `\`${command}\`, on ${machine}`,
    `Compared with: ${[...versions].join('; ')}.`,
    markdownOf(aimsOf(sections)),
  ];
  for (const section of sections) {
    parts.push(markdownOf(section));
    for (const { name, alt } of section.pictures ?? []) parts.push(`![${alt}](images/${name}.svg)`);
  }
  return parts.join('\n\n');
}

/**
 * Replaces the measured part of the page and keeps the rest.
 *
 * @throws Error if the page lacks the markers of the measured part.
 */
export function replaceMeasured(page: string, measured: string): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin === -1 || end < begin) {
    throw new Error(`the page must have a line ${BEGIN} and, after it, a line ${END}`);
  }
  return `${page.slice(0, begin)}${BEGIN}\n\n${measured}\n\n${page.slice(end)}`;
}

/** Writes the report to docs/performance.md, and its pictures beside it. */
export function writeReport(report: string, sections: readonly Section[]): void {
  writeFileSync(PAGE, replaceMeasured(readFileSync(PAGE, 'utf8'), report));
  for (const { name, svg } of sections.flatMap((section) => section.pictures ?? [])) {
    writeFileSync(new URL(`${name}.svg`, IMAGES), svg);
  }
}
