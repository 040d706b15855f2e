import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { markdownTable } from 'markdown-table';
import { expect, test } from 'vitest';
import { SERIES } from '../../src/integrations/metrics/series.ts';

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

/** The names of a pattern with one brace, which vitest would skip if no file has them. */
function expanded(pattern: string): string[] {
  const [before = '', names = '', after = ''] = pattern.split(/[{}]/);
  return names.split(',').map((name) => before + name + after);
}

test.each(['vitest.config.ts', 'vitest.mutants.config.ts'])(
  'every test named in %s exists',
  (config) => {
    const named = [...readFileSync(join(ROOT, config), 'utf8').matchAll(/'(test\/[^'*]+\.ts)'/g)];
    const tests = named.flatMap(([, pattern = '']) => expanded(pattern));
    expect(tests.length).toBeGreaterThan(10);
    expect(tests.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  },
);

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

const INTEGRATIONS = readFileSync(new URL('../../docs/integrations.md', import.meta.url), 'utf8');
const TABLE = /(?<=<!-- series -->\n\n)[\s\S]*?(?=\n\n<!-- end -->)/;

test('the page has all metrics, by both names', () => {
  const rows = SERIES.map(({ kind, name, instrument, unit, help }) => [
    `\`zerotime.${instrument}\``,
    `\`${unit}\``,
    kind,
    `\`zerotime_${name}\``,
    help,
  ]);
  const heads = ['OpenTelemetry', 'Unit', 'Kind', 'Prometheus', 'Meaning'];
  expect(TABLE.exec(INTEGRATIONS)?.[0]).toBe(
    markdownTable([heads, ...rows], { alignDelimiters: false }),
  );
});

// The sentences of README.md and docs that promise a bound, an order or a time, and the tests that name
// them: by a comment `// docs/PAGE.md: "..."`, with the first words of the sentence, above the test.

/** Proofs, measurements, lists of tests and sources, and what is said of other people's software. */
const LEFT_OUT =
  /(algorithm.*|architecture|comparison|dependencies|memory-layout|mutants|performance|proof|systems|versions)\.md$/;
const WORDS =
  /\b(at (most|least)|never|no (more|fewer|longer|sooner|earlier|later) than|exactly|in (order|turn)|always|within (about )?[\d.,]+ ?(ns|us|µs|ms|s|seconds?|microseconds?|milliseconds?))\b/i;
const NAMED = /^ *\/\/ ((?:docs\/)?[\w-]+\.md): "([^"\n]+)"$/gm;

interface Sentence {
  readonly page: string;
  readonly text: string;
  /** The tests that name it. */
  readonly tests: readonly string[];
}

interface Named {
  readonly page: string;
  /** The first words of the sentence. */
  readonly words: string;
  readonly test: string;
}

/** Without code, pictures, tables' rules and marks. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/^```[\s\S]*?^```$/gm, '\n\n')
    .replaceAll(/<[^>]*>|!\[[^\]]*\]\([^)]*\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[*`"]/g, '');
}

/** The sentences of a page: a cell of a table, an item of a list and a heading end one, too. */
function sentences(markdown: string): string[] {
  return plain(markdown)
    .split(/\n\s*\n|\n(?=\s*(?:[-|#>]|\d+\.))|\|/)
    .flatMap((block) => block.replaceAll(/\s+/g, ' ').split(/(?<=[.!?:;]\)?) (?=[A-Z(])/))
    .map((text) => text.replace(/^[\s#>-]*(\d+\. )?/, '').trim())
    .filter((text) => WORDS.test(text) && /^[A-Z]/.test(text) && text.split(' ').length > 4);
}

function filesIn(folder: string, end: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => relative(ROOT, join(ROOT, folder, name)));
}

/** All that tests name. */
function named(): Named[] {
  return filesIn('test', '.ts').flatMap((test) =>
    [...readFileSync(join(ROOT, test), 'utf8').matchAll(NAMED)].map(
      ([, page = '', words = '']): Named => ({ page, words, test }),
    ),
  );
}

/** All sentences that promise something, with the tests that name each. */
function promises(): Sentence[] {
  const all = named();
  const pages = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', ...pages.map((name) => `docs/${name}`)]
    .filter((page) => !LEFT_OUT.test(page))
    .flatMap((page) =>
      sentences(readFileSync(join(ROOT, page), 'utf8')).map((text): Sentence => {
        const of = all.filter((one) => one.page === page && text.startsWith(one.words));
        return { page, text, tests: of.map(({ test }) => test) };
      }),
    );
}

const LIST = new URL('../../dist/promises.md', import.meta.url);

test('every sentence of docs that a test names is there, once', () => {
  const sentences = promises();
  for (const { page, words, test } of named()) {
    const found = sentences.filter((one) => one.page === page && one.text.startsWith(words));
    expect(found, `${test} names ${page}: "${words}"`).toHaveLength(1);
  }
  const without = sentences.filter(({ tests }) => tests.length === 0);
  const counts = `${sentences.length - without.length} promises of docs have a test that names them, ${without.length} have none`;
  mkdirSync(new URL('.', LIST), { recursive: true });
  const lines = sentences.map(
    ({ page, text, tests }) => `- ${page}: ${text} (${tests.join(', ') || 'no test'})`,
  );
  writeFileSync(LIST, `${counts}\n\n${lines.join('\n')}\n`);
  console.log(`${counts}: ${fileURLToPath(LIST)}`);
  expect(sentences.length).toBeGreaterThan(100);
  expect(without, 'promises that no test names').toEqual([]);
});
