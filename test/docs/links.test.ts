import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

function prose(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** The anchors of a page, as GitHub derives them from its headings. */
function anchors(page: string): string[] {
  return [...prose(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

test.each(PAGES)('every link of %s has a target', (page) => {
  const links = [...prose(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, to = '']) => to);
  const dead = links.filter((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path));
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && !anchors(target).includes(anchor);
  });
  expect(dead).toEqual([]);
});

test.each(PAGES)('every source and test named in %s exists', (page) => {
  const named = [...prose(page).matchAll(/`((?:src|test|workers|bench)\/[\w./-]+)`/g)];
  expect(named.flatMap(([, path = '']) => (existsSync(join(ROOT, path)) ? [] : path))).toEqual([]);
});
