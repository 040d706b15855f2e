import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
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
