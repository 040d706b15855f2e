import { expect, test } from 'vitest';
import { retryAfterMs } from '../../src/integrations/outgoing/retry-after.ts';

const DATE = 'Sun, 06 Nov 1994 08:49:37 GMT';

test.each([
  ['0', 0],
  ['120', 120_000],
  [' 1.5 ', 1500],
  ['Sun, 06 Nov 1994 08:49:40 GMT', 3000],
  ['Sunday, 06-Nov-94 08:49:40 GMT', 3000],
  ['Sun Nov  6 08:49:40 1994', 3000],
  ['Sun, 06 Nov 1994 08:49:30 GMT', 0],
  ['-5', undefined],
  ['', undefined],
  ['1e3', undefined],
  ['soon', undefined],
  ['Sunday', undefined],
  ['1994-11-06T08:49:40Z', undefined],
])('retryAfterMs of %j is %j', (retryAfter, ms) => {
  expect(retryAfterMs({ retryAfter, date: DATE })).toBe(ms);
});

test("a date counts from this machine's clock if the answer has none", () => {
  const retryAfter = new Date(Date.now() + 60_000).toUTCString();
  for (const date of [undefined, 'yesterday']) {
    const ms = retryAfterMs({ retryAfter, date }) ?? 0;
    expect(ms).toBeGreaterThan(0);
    expect(ms).toBeLessThanOrEqual(60_000);
  }
  expect(retryAfterMs({ retryAfter: undefined, date: DATE })).toBe(undefined);
});
