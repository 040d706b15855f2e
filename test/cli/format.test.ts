import { describe, expect, it, vi } from 'vitest';
import {
  formatCount,
  formatLatency,
  formatNumber,
  formatRate,
  formatShare,
  formatSpan,
  sparkline,
} from '../../src/cli/format.ts';
import { COLOURS, columnsFor, widthOf, wrapped } from '../../src/cli/terminal.ts';

describe('format', () => {
  it.each([
    [formatCount(20_000), '20,000'],
    [formatNumber(2_000), '2,000'],
    [formatNumber(0.5), '0.5'],
    [formatNumber(1_999.9851), '1,999.985'],
    [formatRate(2_000.002), '2,000/s'],
    [formatRate(432.432), '432.4/s'],
    [formatRate(0.5), '0.5/s'],
    [formatLatency(0), '0.00 ms'],
    [formatLatency(450), '0.45 ms'],
    [formatLatency(9_996), '10.0 ms'],
    [formatLatency(12_340), '12.3 ms'],
    [formatLatency(999_700), '1.00 s'],
    [formatLatency(123_400), '123 ms'],
    [formatLatency(1_234_000), '1.23 s'],
    [formatLatency(12_340_000), '12.3 s'],
    [formatSpan(500), '500 ms'],
    [formatSpan(10_000), '10 s'],
    [formatSpan(125_000), '2 min 5 s'],
    [formatSpan(3_600_000), '1 h'],
  ])('writes %s', (written, expected) => {
    expect(written).toBe(expected);
  });

  it.each([
    [0, 0, '0.0 %'],
    [1, 4, '25.0 %'],
    [4, 4, '100.0 %'],
    [1, 100_000, '0.1 %'],
    [99_999, 100_000, '99.9 %'],
  ])('writes %d of %d as a share of %s: not all is not 100 %%', (part, whole, expected) => {
    expect(formatShare(part, whole)).toBe(expected);
  });

  it('draws one bar per value, clipped at the full height', () => {
    expect(sparkline([0, 1, 4, 8, 9], 8)).toBe(' ▁▄██');
  });
});

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
