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

const PAGE = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');

/** The first cells of the table under a heading, without the row of headings and the line below it. */
function firstCells(heading: string): string {
  const section = PAGE.split(/^##+ /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows
    .slice(2)
    .map((row) => row.split('|')[1])
    .join();
}

function namesIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name).sort();
}

function foldersOf(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${folder}/${name}`)
    .flatMap((path) => [path, ...foldersOf(path)]);
}

test('the page has every folder of src in its tables', () => {
  const named = namesIn(firstCells('Folders') + firstCells('The kernel'));
  // The engine's files are in a table of their own.
  const folders = foldersOf('src').filter((path) => !path.startsWith('src/kernel/engine/'));
  expect(named).toEqual(expect.arrayContaining(folders));
});

test('the page has every file of the engine in its table, and no other', () => {
  expect(namesIn(firstCells('The engine'))).toEqual(
    readdirSync(join(ROOT, 'src/kernel/engine'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .sort(),
  );
});

/** Whether a source defines a function, a class or a method. */
function defines(source: string, name: string): boolean {
  const method = `^ +(?:(?:abstract|async|get|override|private|protected|readonly|static) )*#?${name}[(<]`;
  return new RegExp(`\\b(?:function|class) ${name}\\b|${method}`, 'm').test(source);
}

const STEPS = [...PAGE.matchAll(/^\d+\. `(src\/[^`]+)`: (?:\w+ )*`(?:\w+\.)?(\w+)[`(]/gm)].map(
  ([, file = '', name = '']) => [name, file] as const,
);

test.each(STEPS)('the page has the step %s in its file, %s', (name, file) => {
  expect(defines(readFileSync(join(ROOT, file), 'utf8'), name)).toBe(true);
});

test('the page names a function in most of its steps', () => {
  expect(STEPS.length).toBeGreaterThan(15);
});
