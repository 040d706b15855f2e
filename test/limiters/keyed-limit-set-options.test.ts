import { expect, test } from 'vitest';
import { type KeyedLimitSet, type KeyedLimitSetOptions, RateLimitError } from '../../src/index.ts';
import { createTable, LIMITS } from '../support/keyed-limit-set-table.ts';

const many = (count: number) => Array.from({ length: count }, () => ({ rate: 1, burst: 1 }));
const wrong: [string, object, string][] = [
  ['none', { limits: [] }, 'limits must be an array of 1 to 8 limits, got 0'],
  ['nine', { limits: many(9) }, 'limits must be an array of 1 to 8 limits, got 9'],
  ['no array', { limits: { rate: 1 } }, 'limits must be an array of 1 to 8 limits, got an object'],
  ['undefined', { limits: undefined }, 'limits must be an array of 1 to 8 limits'],
  ['a rate beside', { limits: many(2), rate: 1 }, 'options has no option "rate"'],
  ['a burst beside', { limits: many(2), burst: 1 }, 'options has no option "burst"'],
  [
    'tiers beside',
    { limits: many(2), tiers: { pro: { rate: 1, burst: 1 } } },
    'options has no option "tiers"',
  ],
  ['no object', { limits: [1, 2] }, 'limits[0] must be'],
  ['a typo', { limits: [...many(1), { rate: 1, brust: 1 }] }, 'limits[1]'],
  ['a quantum', { limits: [{ quantum: 1, fillIntervalMs: 1, burst: 1 }] }, 'limits[0] must have'],
  ['no burst', { limits: [{ rate: 1 }, { rate: 1, burst: 1 }] }, 'limits[0].burst must be'],
  ['a burst of 0', { limits: [...many(1), { rate: 1, burst: 0 }] }, 'limits[1].burst must be'],
  [
    'a burst of a century',
    { limits: [...many(1), { rate: 1, burst: 1e12 }] },
    'limits[1].burst must be at most',
  ],
  ['too many keys', { limits: many(2), capacity: 30e6 }, 'capacity must be'],
];

test.each(wrong)('throws for limits with %s', (_, options, message) => {
  expect(() => createTable(options as Partial<KeyedLimitSetOptions>)).toThrow(message);
  expect(() => createTable(options as Partial<KeyedLimitSetOptions>)).not.toThrow(RateLimitError);
});

test('throws for a change that does not fit the limits, and changes nothing', () => {
  const { made } = createTable();
  const change = (limits: unknown) => () =>
    made.reconfigure({ limits } as Parameters<KeyedLimitSet['reconfigure']>[0]);
  expect(change([{}])).toThrow('limits must be an array of 2 limits, got 1');
  expect(change([{}, { rate: -1 }])).toThrow('limits[1].rate must be');
  expect(change([{}, { tiers: {} }])).toThrow('limits[1]');
  expect(() => made.reconfigure({ rate: 1 } as never)).toThrow('change has no option "rate"');
  expect(() => made.tryConsume('a', 1, { tier: 'pro' } as never)).toThrow('tier must be omitted');
  expect(made.limits).toEqual(LIMITS);
});
