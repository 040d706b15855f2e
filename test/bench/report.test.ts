import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { renderReport, replaceMeasured } from '../../bench/report.ts';
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

test('a report starts with command, machine, versions and aims, and contains tables and pictures', () => {
  expect(renderReport('npm run bench', 'a machine.', [SECTION, SECTION])).toBe(
    [
      '`npm run bench`, on a machine.',
      'Compared with: cat 1.2.',
      '## Aims',
      'Medians, with (min..max) if there are rounds. A missed aim fails no check.',
      [
        '| measure | measured | aim        |',
        '| :------ | -------: | :--------- |',
        '| mice    |        3 | at least 4 |',
        '| mice    |        3 | at least 4 |',
      ].join('\n'),
      ...Array(2)
        .fill([
          '## Cats',
          'How many.',
          '| cat | mice |\n| :-- | ---: |\n| Tom |    3 |',
          '![Cats by mice](images/cats.svg)',
        ])
        .flat(),
    ].join('\n\n'),
  );
});

test('the measured part is replaced, and everything around it stays', () => {
  const first = replaceMeasured(PAGE, 'first');
  const second = replaceMeasured(first, 'second');
  const [before = '', after = '', ...more] = second.split('\n\nsecond\n\n');
  expect(more).toEqual([]);
  expect(PAGE.startsWith(before)).toBe(true);
  expect(PAGE.endsWith(after)).toBe(true);
  expect(replaceMeasured(second, 'first')).toBe(first);
});

test('a page without markers is rejected', () => {
  expect(() => replaceMeasured('# Performance\n', 'first')).toThrow(/must have a line <!--/);
});
