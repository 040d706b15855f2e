import { describe, expect, test } from 'vitest';
import {
  attach,
  type ContinuousLimit,
  KeyedLimitSet,
  type KeyedLimitSetOptions,
  Region,
} from '../../src/index.ts';
import { BYTES_PER_KEY } from '../../src/kernel/keyed/cell.ts';
import { setBytesPerKey } from '../../src/kernel/limit-set/cell.ts';
import { keyedBytes, limitSetBytes } from '../../src/memory/layout.ts';
import { createTable, LIMITS } from '../support/keyed-limit-set-table.ts';
import { settled } from '../support/settled.ts';

describe.each(['wasm', 'atomics'] as const)('keys with several limits (%s)', (kernel) => {
  test('options that are not an object are refused by name', async () => {
    const { made } = createTable({ kernel });
    for (const [options, got] of [
      [null, 'null'],
      ['x', '"x"'],
    ] as const) {
      const message = `options must be an object, got ${got}`;
      await expect(made.wait('a', 1, options as never)).rejects.toThrow(message);
      expect(() => made.waitSync('a', 1, options as never)).toThrow(message);
      expect(() => made.reserve('a', 1, options as never)).toThrow(message);
    }
  });

  test('callers wait for the limit that takes longest, in order', async () => {
    const { made, clock } = createTable({ kernel });
    expect(made.charge('a', 10)).toBe(6);
    const order: number[] = [];
    const waits = [1, 2, 3].map(async (i) => {
      await made.wait('a', 1);
      order.push(i);
    });
    await settled();
    expect(made.waiting).toBe(3);
    // The first limit pays its debt first, then the second one gains a token in 4 ms.
    const served = async (ms: number) => {
      clock.advance(ms);
      await settled();
      return [...order];
    };
    expect(await served(6)).toEqual([]);
    expect(await served(1)).toEqual([1]);
    expect(await served(1)).toEqual([1, 2]);
    expect(await served(3)).toEqual([1, 2]);
    expect(await served(1)).toEqual([1, 2, 3]);
    await Promise.all(waits);
    expect(order).toEqual([1, 2, 3]);
  });

  test('other threads see the same table, in a region too', () => {
    const region = Region.create();
    const { made } = createTable({ kernel, region });
    expect(made.kernelName).toBe(kernel);
    const other = KeyedLimitSet.attach(structuredClone(made.handle));
    const any = attach(structuredClone(made.handle));
    expect(any).toBeInstanceOf(KeyedLimitSet);
    made.tryConsume('a', 3);
    expect(other.balance('a')).toBe(1);
    expect(other.limits).toEqual(LIMITS);
    other.reconfigure({ limits: [{ burst: 8 }, { rate: 100 }] });
    expect(made.limits).toEqual([
      { rate: 1000, burst: 8 },
      { rate: 100, burst: 10 },
    ]);
    expect(other.for('a').limit).toBe(8);
    expect(other.for('a').rate).toBe(100);
    expect(made.rate).toBe(100);
    expect(made.burst).toBe(8);
    expect(`${made}`).toContain('8 at 1000/s and 10 at 100/s');
  });

  test('an unlimited limit holds nobody back', () => {
    const limits = [{ rate: 1000, burst: 2 }, { rate: Infinity } as ContinuousLimit];
    const { made } = createTable({ kernel, limits });
    expect(made.consumeOrDrain('a', 9)).toBe(2);
    expect(made.tryConsume('a')).toBe(false);
    const free = createTable({ kernel, limits: [limits[1], limits[1]] as ContinuousLimit[] }).made;
    expect(free.tryConsume('a', 1e6)).toBe(true);
    expect(free.consumeOrDrain('a', 7)).toBe(7);
    expect(free.balance('a')).toBe(Infinity);
    expect(free.reserve('a', 5)?.cancel()).toBe(true);
    expect(free.block('a', 10)).toBe(false);
    expect(free.stats()).toMatchObject({ entries: 0 });
  });
});

test('one limit makes a set too, and no other table is larger than before', () => {
  const single = createTable({ limits: [{ rate: 10, burst: 2 }] }).made;
  expect(single.limits).toEqual([{ rate: 10, burst: 2 }]);
  expect(single.decide('a').limits).toMatchObject([{ limit: 2, remaining: 1 }]);
  single.reconfigure({ limits: [{ burst: 5 }] });
  expect(single.burst).toBe(5);
  expect(single.for('a').reserve(2)?.waitMs).toBe(100);
  expect(`${single}`).toBe('KeyedLimitSet { limits: 5 at 10/s }');
  expect(keyedBytes(2000)).toBe(1280 + 32 * 1000);
  expect(BYTES_PER_KEY).toBe(32);
  // Two entries, each with a slot: four words, a zero-time for each limit, and a schedule.
  expect([1, 2, 8].map(setBytesPerKey)).toEqual([208, 224, 320]);
  expect(limitSetBytes(2000, 2) - limitSetBytes(1000, 2)).toBe(setBytesPerKey(2) * 500);
});

test.each<[string, object, string]>([
  ['tiers beside', { tiers: { pro: { rate: 1, burst: 1 } } }, 'options has no option "tiers"'],
  ['too many keys', { capacity: 30e6 }, 'capacity must be'],
])('throws for limits with %s', (_, options, message) => {
  expect(() => createTable(options as Partial<KeyedLimitSetOptions>)).toThrow(message);
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
  expect(() => made.charge('a', 1e300)).toThrow(RangeError);
  expect(made.limits).toEqual(LIMITS);
});
