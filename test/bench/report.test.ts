import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { putChapter, renderChapter } from '../../bench/report.ts';
import type { Section } from '../../bench/section.ts';

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
