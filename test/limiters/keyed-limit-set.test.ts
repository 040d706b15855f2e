import { describe, expect, test } from 'vitest';
import {
  allOf,
  attach,
  type ContinuousLimit,
  KeyedLimitSet,
  type KeyedLimitSetOptions,
  RateLimitError,
  REFUSED,
  Region,
} from '../../src/index.ts';
import { BYTES_PER_KEY } from '../../src/kernel/keyed/cell.ts';
import { setBytesPerKey } from '../../src/kernel/limit-set/cell.ts';
import { keyedBytes, limitSetBytes } from '../../src/memory/layout.ts';
import { createTable, LIMITS } from '../support/keyed-limit-set-table.ts';
import { settled } from '../support/settled.ts';

describe.each(['wasm', 'atomics'] as const)('keys with several limits (%s)', (kernel) => {
  test('a call needs the tokens of every limit, and takes them of each', () => {
    const { made, clock } = createTable({ kernel });
    expect(made.kernelName).toBe(kernel);
    expect(made.consumeOrDrain('a', 9)).toBe(4);
    expect(made.tryConsume('a')).toBe(false);
    expect(made.balance('b')).toBe(4);
    for (let ms = 0; ms < 6; ms++) {
      clock.advance(1);
      expect(made.tryConsume('a')).toBe(true);
    }
    // 10 of the second limit are gone, and one and a half have returned.
    expect(made.decide('a', 0).limits?.map(({ remaining }) => remaining)).toEqual([0, 1]);
    clock.advance(1);
    expect(made.tryConsume('a')).toBe(true);
    clock.advance(1);
    expect(made.tryConsume('a')).toBe(true);
    clock.advance(1);
    expect(made.decide('a')).toEqual({
      allowed: false,
      limit: 4,
      remaining: 0,
      retryAfterMs: 3,
      resetMs: 39,
      nextTokenMs: 3,
      limits: [
        { limit: 4, remaining: 1, retryAfterMs: 0, resetMs: 3, nextTokenMs: 1 },
        { limit: 10, remaining: 0, retryAfterMs: 3, resetMs: 39, nextTokenMs: 3 },
      ],
    });
    expect(made.timeUntil('a', 1)).toBe(3);
  });

  test('a key that was never seen follows each change, so that to forget one mints nothing', () => {
    const { made, clock } = createTable({ kernel });
    const limits = (burst: number) => LIMITS.map(({ rate }) => ({ rate, burst }));
    made.reconfigure({ limits: limits(2) });
    made.reconfigure({ limits: limits(20) });
    expect(made.balance('new')).toBe(2);
    clock.advance(3);
    const [slower] = [...LIMITS].sort((a, b) => a.rate - b.rate);
    expect(made.balance('new')).toBe(2 + (3 * (slower?.rate ?? 0)) / 1000);
    clock.advance(1e6);
    expect(made.balance('new')).toBe(20);
  });

  test('more than the smallest burst is never admitted', () => {
    const { made } = createTable({ kernel });
    expect(made.tryConsume('a', 5)).toBe(false);
    expect(made.decide('a', 5)).toMatchObject({ allowed: false, retryAfterMs: Infinity });
    expect(() => made.acquire('a', 5)).toThrow(
      expect.objectContaining({ code: 'ERR_EXCEEDS_BURST' }),
    );
    expect(made.balance('a')).toBe(4);
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

  test('a wait that is aborted puts its tokens back under every limit, the latest first', async () => {
    const { made } = createTable({ kernel });
    made.consumeOrDrain('a', 4);
    const first = made.reserve('a', 2);
    const second = made.reserve('a', 1);
    expect(first?.waitMs).toBe(2);
    expect(second?.waitMs).toBe(3);
    expect(second?.cancel()).toBe(true);
    expect(second?.cancel()).toBe(false);
    expect(first?.cancel()).toBe(true);
    expect(made.balance('a')).toBe(0);
    expect(made.decide('a', 0).limits?.map(({ remaining }) => remaining)).toEqual([0, 6]);
    const controller = new AbortController();
    const wait = made.wait('a', 1, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
    expect(made.balance('a')).toBe(0);
  });

  test('a reservation is lost to a later take, and to a change of the limits', () => {
    const { made } = createTable({ kernel });
    made.consumeOrDrain('a', 4);
    const early = made.reserve('a', 2);
    made.acquire('a', 1);
    expect(early?.cancel()).toBe(false);
    const late = made.reserve('a', 1);
    made.reconfigure({ limits: [{}, { burst: 20 }] });
    expect(late?.cancel()).toBe(false);
  });

  test('returned tokens, charges, blocks and resets change every limit', () => {
    const { made, clock } = createTable({ kernel });
    made.consumeOrDrain('a', 4);
    made.returnTokens('a', 1);
    expect(made.decide('a', 0).limits?.map(({ remaining }) => remaining)).toEqual([1, 7]);
    made.returnTokens('a', 9);
    expect(made.balance('a')).toBe(4);
    expect(made.charge('a', 14)).toBe(16);
    expect(made.for('a').settle(3, 1)).toBe(0);
    expect(made.balance('a')).toBe(-8);
    made.reset('a');
    expect(made.decide('a', 0).limits?.map(({ remaining }) => remaining)).toEqual([4, 10]);
    expect(made.block('a', 100)).toBe(true);
    expect(made.timeUntil('a', 0)).toBe(100);
    clock.advance(100);
    expect(made.decide('a', 0).limits?.map(({ remaining }) => remaining)).toEqual([0, 0]);
    expect(made.block('b', 0)).toBe(true);
    expect(made.balance('b')).toBe(0);
    expect(() => made.charge('a', 1e300)).toThrow(RangeError);
  });

  test('other threads see the same table, in a region too', () => {
    const region = Region.create();
    const { made } = createTable({ kernel, region });
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

  test('the bucket of a key is a limiter, and a part of allOf', async () => {
    const { made } = createTable({ kernel });
    const a = made.for('a');
    const both = allOf(a, made.for('b'));
    made.consumeOrDrain('b', 3);
    expect(await both.tryConsume(2)).toBe(false);
    expect(a.balance()).toBe(4);
    expect(await both.tryConsume(1)).toBe(true);
    expect(a.balance()).toBe(3);
    expect(a.waitSync(1)).toBe(true);
    expect(a.acquire(4, 0)).toBe(REFUSED);
  });

  test('keys without a place share a bucket with all limits, or are refused, or admitted', () => {
    const fill = (made: KeyedLimitSet) => {
      for (let key = 0; key < 100; key++) made.tryConsume(key, 4);
    };
    const shared = createTable({ kernel, capacity: 1, stats: true });
    fill(shared.made);
    expect(shared.made.stats()).toMatchObject({ entries: 2, shared: 98, admitted: 12 });
    expect(shared.made.balance('x')).toBe(0);
    shared.clock.advance(2);
    expect(shared.made.decide('x').limits?.map(({ remaining }) => remaining)).toEqual([1, 5]);
    expect(shared.made.consumeOrDrain('y', 5)).toBe(1);
    const reservation = shared.made.reserve('z', 2);
    expect(reservation?.waitMs).toBe(2);
    expect(reservation?.cancel()).toBe(true);
    expect(shared.made.charge('z', 1)).toBe(1);
    expect(shared.made.block('z', 1)).toBe(false);
    shared.made.returnTokens('z', 5);
    expect(shared.made.balance('x')).toBe(-1);
    const refused = createTable({ kernel, capacity: 1, whenFull: 'refuse' }).made;
    fill(refused);
    expect(refused.acquire('x')).toBe(REFUSED);
    expect(refused.decide('x')).toMatchObject({ allowed: false, remaining: 0, limit: 4 });
    expect(refused.consumeOrDrain('x', 2)).toBe(0);
    expect(refused.charge('x', 2)).toBe(0);
    const admitted = createTable({ kernel, capacity: 1, whenFull: 'admit' }).made;
    fill(admitted);
    expect(admitted.tryConsume('x', 4)).toBe(true);
    expect(admitted.decide('x')).toMatchObject({ allowed: true, remaining: 4 });
    expect(admitted.consumeOrDrain('x', 9)).toBe(4);
    expect(admitted.balance('x')).toBe(4);
  });

  test('callers that wait follow a change of all rates, and a debt is paid before anything arrives', () => {
    const { made, clock } = createTable({ kernel });
    made.charge('a', 10);
    const reservation = made.reserve('a', 2);
    expect(reservation?.waitMs).toBe(8);
    made.reconfigure({ limits: [{ rate: 2000 }, { rate: 500 }] });
    expect(reservation?.dueUs).toBe(4000);
    // The debt of the first limit was paid at 3 ms; it does not fill until all are paid.
    clock.advance(4);
    expect(made.decide('a', 0).limits?.map(({ remaining }) => remaining)).toEqual([0, 0]);
    clock.advance(2);
    expect(made.decide('a', 0).limits?.map(({ remaining }) => remaining)).toEqual([4, 1]);
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
  expect([1, 2, 8].map(setBytesPerKey)).toEqual([192, 208, 304]);
  expect(limitSetBytes(2000, 2) - limitSetBytes(1000, 2)).toBe(setBytesPerKey(2) * 500);
});

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
