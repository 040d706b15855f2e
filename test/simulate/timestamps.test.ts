import { describe, expect, it } from 'vitest';
import { formatOf, TimestampFile } from '../../src/simulate/timestamps.ts';

async function* stream(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

async function read(
  lines: readonly string[],
  { spread = true, endMs = Number.POSITIVE_INFINITY } = {},
) {
  const file = new TimestampFile(stream(lines), { spread });
  const atMs: number[] = [];
  for await (const batch of file.arrivals(endMs * 1_000)) {
    atMs.push(...Array.from(batch, (us) => us / 1_000));
  }
  return { atMs, counts: file.counts };
}

function commonLog(second: string): string {
  return `192.0.2.7 - ann [10/Oct/2000:13:55:${second} -0700] "GET / HTTP/1.0" 200 2326`;
}

describe('a line far in the future', () => {
  it('is an error that names the line', async () => {
    const lines = ['1000', '', 'no time', '1001', '900', '99999999999 \u001b[31m', '1002'];
    await expect(read(lines)).rejects.toThrow(
      /^line 6 is 1157407 days after the line before it: "99999999999 \\u001b\[31m"$/,
    );
  });

  it('may come up to a year after the line before it', async () => {
    const year = 366 * 86_400;
    expect((await read(['0', String(year), '5', String(2 * year)])).counts.late).toBe(1);
    await expect(read(['0', String(year + 1)])).rejects.toThrow(/^line 2 is 366 days/);
  });
});

describe('a timestamp in a line of text', () => {
  const OCTOBER = Date.UTC(2000, 9, 10, 20, 55, 36);
  it.each([
    [commonLog('36'), OCTOBER, true],
    ['x [10/Oct/2000:22:55:36 +0200]', OCTOBER, true],
    ['2000-10-10T20:55:36Z GET /', OCTOBER, true],
    ['{"time":"2000-10-10T13:55:36.250-07:00"}', OCTOBER + 250, false],
    ['2000-10-10 20:55:36,125 INFO', OCTOBER + 125, false],
    ['2000-10-10 22:55:36 +0200', OCTOBER, true],
    ['971211336', OCTOBER, true],
    ['971211336.5 GET', OCTOBER + 500, false],
    ['971211336000', OCTOBER, false],
    ['971211336125;ok', OCTOBER + 125, false],
    ['0.5', 500, false],
  ])('%j', (line, ms, isWholeSecond) => {
    expect(formatOf(line)?.read(line)).toEqual({ us: ms * 1_000, isWholeSecond });
  });

  it.each([
    '',
    commonLog('60'),
    '2016-12-31T23:59:60Z',
    'GET / 200',
    '192.0.2.7 - -',
    '1e3',
    '-5',
    '99999999999999999',
    'x [10/Foo/2000:13:55:36 -0700]',
  ])('%j holds none', (line) => {
    expect(formatOf(line)).toBeUndefined();
  });
});

describe('a file of timestamps', () => {
  it('starts at 0, and spreads the lines of one second over it', async () => {
    const { atMs, counts } = await read(['36', '36', '36', '36', '37', '40'].map(commonLog));
    expect(atMs).toEqual([0, 250, 500, 750, 1_000, 4_000]);
    expect(counts).toEqual({
      format: 'common log format',
      startedUs: Date.UTC(2000, 9, 10, 20, 55, 36) * 1_000,
      unreadable: 0,
      late: 0,
    });
  });

  it('keeps timestamps as they are without spread', async () => {
    const { atMs } = await read(['36', '36', '38'].map(commonLog), { spread: false });
    expect(atMs).toEqual([0, 0, 2_000]);
  });

  it('does not spread timestamps with a fraction or in milliseconds', async () => {
    expect((await read(['1.0', '1.0', '2.5'])).atMs).toEqual([0, 0, 1_500]);
    expect((await read(['971211336000', '971211336000'])).atMs).toEqual([0, 0]);
  });

  it('takes whole seconds for exact as soon as a timestamp has a fraction', async () => {
    const { atMs, counts } = await read(['10', '10', '10', '10.5', '11', '11', '10.9', '12', '12']);
    expect(atMs).toEqual([0, 0, 0, 500, 1_000, 1_000, 1_000, 2_000, 2_000]);
    expect(counts.late).toBe(1);
    expect((await read(['10.5', '11', '11'])).atMs).toEqual([0, 500, 500]);
    expect((await read(['10', '10', '11', '11.5'])).atMs).toEqual([0, 500, 1_000, 1_500]);
  });

  it('counts lines without a timestamp of the first format, but not blank ones', async () => {
    const { atMs, counts } = await read(['', commonLog('36'), '2000-10-10T20:55:36Z', 'x', '']);
    expect(atMs).toEqual([0]);
    expect(counts.unreadable).toBe(2);
  });

  it('moves an out-of-order line to the latest instant before it', async () => {
    const { atMs, counts } = await read(['10.5', '11.5', '11.25', '9.5', '12.5']);
    expect(atMs).toEqual([0, 1_000, 1_000, 1_000, 2_000]);
    expect(counts.late).toBe(2);
  });

  it('stops at the end of the simulated time', async () => {
    expect((await read(['5.5', '6.5', '7.5'], { endMs: 2_000 })).atMs).toEqual([0, 1_000]);
    expect((await read(['36', '36', '37'].map(commonLog), { endMs: 500 })).atMs).toEqual([0]);
  });

  it('may be longer than a batch', async () => {
    const { atMs } = await read(Array.from({ length: 10_000 }, (_, ms) => String(1e12 + ms)));
    expect(atMs).toEqual(Array.from({ length: 10_000 }, (_, ms) => ms));
  });
});
