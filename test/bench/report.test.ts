import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CALL_AIMS } from '../../bench/aims.ts';
import { PEERS } from '../../bench/parts/threads.ts';
import { putChapter, renderChapter, type Section } from '../../bench/report.ts';
import { FULL } from '../../bench/settings.ts';
import { median, ratios, shownSpread, standardDeviation } from '../../bench/spread.ts';
import { VARIANTS } from '../../bench/variants.ts';

const PAGE = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8');

const SECTION: Section = {
  title: 'Cats',
  text: 'How many.',
  head: ['cat', 'mice'],
  rows: [['Tom', '3']],
  aims: [{ measure: 'mice', measured: '3', aim: 'at least 4' }],
  pictures: [{ name: 'cats', alt: 'Cats by mice', svg: '<svg/>' }],
  versions: ['cat 1.2'],
};

test('a chapter has its table, aims and pictures, and says how it was measured', () => {
  expect(renderChapter('npm run bench', 'a machine.', SECTION)).toBe(
    [
      '## Cats',
      'How many.',
      '| cat | mice |\n| :-- | ---: |\n| Tom |    3 |',
      'A missed aim fails no check.',
      [
        '| measure | measured | aim        |',
        '| :------ | -------: | :--------- |',
        '| mice    |        3 | at least 4 |',
      ].join('\n'),
      '![Cats by mice](images/cats.svg)',
      '`npm run bench`, on a machine.',
      'Compared with: cat 1.2.',
    ].join('\n\n'),
  );
});

test('a chapter is put in its place or replaced, and everything around it stays', () => {
  const put = (page: string, part: string, chapter: string) =>
    putChapter(page, ['dogs', 'cats', 'mice'], part, chapter);
  const mice = put(PAGE, 'mice', 'few\n\nmice');
  const [before = '', after = '', ...more] = mice.split('<!-- mice -->\n\nfew\n\nmice\n\n');
  expect(more).toEqual([]);
  expect(PAGE.startsWith(before)).toBe(true);
  expect(PAGE.endsWith(after)).toBe(true);
  const all = put(put(mice, 'dogs', 'no dogs'), 'cats', 'cats');
  const dogs = '<!-- dogs -->\n\nno dogs\n\n';
  const rest = `<!-- mice -->\n\nfew\n\nmice\n\n${after}`;
  expect(all).toBe(`${before}${dogs}<!-- cats -->\n\ncats\n\n${rest}`);
  expect(put(all, 'cats', 'lions')).toBe(`${before}${dogs}<!-- cats -->\n\nlions\n\n${rest}`);
});

test('a page without markers is rejected', () => {
  expect(() => putChapter('# Performance\n', ['cats'], 'cats', 'first')).toThrow(
    /must have a line <!--/,
  );
});

test('all peers and variants have different names', () => {
  const names = PEERS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toEqual(expect.arrayContaining(VARIANTS.map(({ name }) => name)));
});

test.each(CALL_AIMS)(
  'the aim of $variant compared with $peer ($load.name, $threads threads) refers to a measurement',
  ({ variant, peer, load, threads, atMost, timesFaster }) => {
    expect(VARIANTS.map(({ name }) => name)).toContain(variant);
    expect(FULL.loads).toContain(load);
    expect(FULL.threadCounts).toContain(threads);
    const measured = PEERS.find(({ name }) => name === peer);
    expect(measured?.mostThreads).toBeGreaterThanOrEqual(threads);
    expect([atMost, timesFaster].filter((bound) => bound !== undefined)).toHaveLength(1);
  },
);

test.each([
  [[7], 7],
  [[9, 1, 4], 4],
  [[8, 1, 4, 2], 3],
])('the median of %j is %d', (values, middle) => {
  expect(median(values)).toBe(middle);
});

test('ratios are taken round by round', () => {
  expect(ratios([2, 9, 5], [4, 3, 5])).toEqual([0.5, 3, 1]);
});

test('a spread shows median, minimum and maximum with three significant digits', () => {
  expect(shownSpread([0.12345, 2_603_103.9, 205.05])).toBe('205 (0.123..2,600,000)');
});

test('the standard deviation is that of the whole population', () => {
  expect(standardDeviation([2, 4, 4, 4, 5, 5, 7, 9])).toBe(2);
  expect(standardDeviation([500, 500])).toBe(0);
});
