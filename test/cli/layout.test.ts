import { expect, it, vi } from 'vitest';
import { COLOURS, columnsFor, widthOf, wrapped } from '../../src/cli/terminal.ts';

it('breaks a line between words, and indents what follows', () => {
  expect(wrapped('  Rate    one two three four', 18, 10)).toEqual([
    '  Rate    one two',
    '          three',
    '          four',
  ]);
  expect(wrapped('  Rate    one two', 17, 10)).toEqual(['  Rate    one two']);
});

it('leaves a word whole that is longer than a line', () => {
  expect(wrapped('see http://example.com/path now', 10, 2)).toEqual([
    'see',
    '  http://example.com/path',
    '  now',
  ]);
});

it('keeps a number and its unit together', () => {
  expect(wrapped('late by 165 ms, or 51 % of it', 12, 2)).toEqual([
    'late by',
    '  165 ms, or',
    '  51 % of it',
  ]);
});

it('styles take no room', () => {
  const line = `${COLOURS.bad('one two')} three`;
  expect(widthOf(line)).toBe(13);
  expect(wrapped(line, 13, 2)).toEqual([line]);
  expect(wrapped(line, 12, 2)).toEqual([COLOURS.bad('one two'), '  three']);
});

it('only a terminal has columns', () => {
  const stream = (isTTY: boolean, columns: number) => ({ isTTY, columns }) as NodeJS.WriteStream;
  expect(columnsFor(stream(true, 60))).toBe(60);
  expect(columnsFor(stream(true, 0))).toBe(Number.POSITIVE_INFINITY);
  expect(columnsFor(stream(false, 60))).toBe(Number.POSITIVE_INFINITY);
});

it('before Node.js 20.12 text stays plain', async () => {
  vi.resetModules();
  vi.doMock('node:util', () => ({ styleText: undefined }));
  const { COLOURS: plain } = await import('../../src/cli/terminal.ts');
  expect(plain.bad('text')).toBe('text');
  vi.doUnmock('node:util');
  vi.resetModules();
});
