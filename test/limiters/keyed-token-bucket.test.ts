import { describe, expect, test } from 'vitest';
import { ManualClock, REFUSED, Region } from '../../src/index.ts';
import { type Key, KeyedTokenBucket, type KeyedTokenBucketOptions } from '../../src/keyed.ts';
import { KEYED } from '../../src/memory/layout.ts';
import { expectSame } from '../support/quick.ts';

function create(options: Partial<KeyedTokenBucketOptions> = {}): KeyedTokenBucket {
  const clock = ManualClock.create();
  return KeyedTokenBucket.create({ rate: 10, burst: 5, capacity: 1000, clock, ...options });
}

describe('keys', () => {
  test('are equal as in a Map', () => {
    const keys: Key[] = [
      '1',
      1,
      1n,
      '',
      '\0',
      'Infinity',
      Infinity,
      -Infinity,
      NaN,
      'NaN',
      0,
      '0',
      0n,
    ];
    const long = 'x'.repeat(1_000_000);
    keys.push(long, `${long}x`, `${long}\u0100`, '\ud800', '\ud801', '\udfff', '\ufffd', '\u0100');
    keys.push(
      '__proto__',
      'constructor',
      1e300,
      5e-324,
      -1,
      -1n,
      2n ** 64n,
      2n ** 64n + 1n,
      10n ** 400n,
    );
    keys.push('a'.repeat(255), 'a'.repeat(256), '\u0100'.repeat(127), '\u0100'.repeat(128));
    expect(new Set(keys).size).toBe(keys.length);
    const made = create();
    for (const key of keys) expect([made.consumeOrDrain(key, 9), key]).toEqual([5, key]);
    for (const key of keys) expect([made.tryConsume(key), key]).toEqual([false, key]);
    expect(made.tryConsume(-0)).toBe(false);
    expect(made.stats().entries).toBe(keys.length);
  });

  test('of 10,000 Unicode strings are 10,000', () => {
    const made = create({ capacity: 10_000 });
    const keyOf = (i: number) => String.fromCodePoint(0x4e00 + (i % 5000), 0x1f600 + i);
    for (let i = 0; i < 10_000; i++) expectSame(made.consumeOrDrain(keyOf(i), 9), 5, `${i}`);
    for (let i = 0; i < 10_000; i++) expectSame(made.tryConsume(keyOf(i)), false, `${i}`);
  });

  test.each([[undefined], [null], [true], [Symbol('s')], [{}], [['a']], [() => 1]])(
    'are never %o',
    async (key) => {
      const made = create();
      const wrong = key as unknown as Key;
      const error = expect.objectContaining({ message: expect.stringMatching(/^key must be/) });
      expect(() => made.tryConsume(wrong)).toThrow(error);
      expect(() => made.for(wrong)).toThrow(TypeError);
      await expect(made.wait(wrong)).rejects.toThrow(error);
    },
  );

  test('have different places in each table', () => {
    const seeds = [create(), create()].map(({ handle }) => {
      const { buffer } = Region.open(handle.memory);
      return new Uint8Array(buffer, handle.offset + KEYED.seed, 16).join();
    });
    expect(new Set(seeds).size).toBe(2);
    expect(seeds).not.toContain(new Uint8Array(16).join());
  });
});

describe('a key', () => {
  test('counts in the calls of its table', () => {
    const made = create({ stats: true });
    expect(made.consumeOrDrain('a', 9)).toBe(5);
    expect(made.tryConsume('b', 2)).toBe(true);
    expect([made.acquire('a', 1, 50), made.acquire('a', 1)]).toEqual([REFUSED, 100]);
    expect(made.reserve('a', 1, { maxWaitMs: 100 })).toBeUndefined();
    expect(made.reserve('a', 2)?.cancel()).toBe(true);
    expect(made.waitSync('a', 1, { timeoutMs: 50 })).toBe(false);
    expect(made.decide('b').allowed).toBe(true);
    expect(made.stats()).toMatchObject({ entries: 2, calls: 8, admitted: 11, refused: 3 });
  });

  test('whose wait is aborted gets its tokens back, whatever key is served meanwhile', async () => {
    const made = create();
    made.consumeOrDrain('a', 5);
    const aborts = new AbortController();
    const waiting = made.wait('a', 3, { signal: aborts.signal });
    expect(made.tryConsume('b')).toBe(true); // so that the table switches to another key
    aborts.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect([made.balance('a'), made.balance('b')]).toEqual([0, 4]);
    expect(made.tryConsume('new', 6)).toBe(false);
    expect(made.stats().entries).toBe(2);
  });

  test('that asks for 0 tokens gets them, and no entry', () => {
    const made = create();
    expect(made.tryConsume('a', 0)).toBe(true);
    expect(made.decide('a', 0)).toMatchObject({ allowed: true, remaining: 5 });
    expect(made.reserve('a', 0)?.cancel()).toBe(true);
    expect(made.stats().entries).toBe(0);
  });
});

test('a bucket that is full again needs no entry', () => {
  const clock = ManualClock.create();
  const made = create({ clock, capacity: 1 });
  for (let i = 0; i < 100; i++) {
    expect(made.consumeOrDrain(i, 5)).toBe(5);
    clock.advance(499);
    expect(made.stats().entries).toBe(1);
    clock.advance(1);
    expect(made.stats().entries).toBe(0);
  }
  expect(made.stats()).toMatchObject({ shared: 0 });
});

test('an unlimited table admits everything and needs no entries', () => {
  const made = KeyedTokenBucket.create({ rate: Infinity, capacity: 1 } as KeyedTokenBucketOptions);
  for (let i = 0; i < 10; i++) expect(made.tryConsume(i, 1e9)).toBe(true);
  expect([made.available('a'), made.consumeOrDrain('a', 7)]).toEqual([Infinity, 7]);
  expect(made.stats().entries).toBe(0);
});

test('a bucket is still exact after eight years', () => {
  const clock = ManualClock.create();
  const made = create({ clock });
  made.acquire('in debt', 5);
  clock.advance(8 * 365.25 * 86_400_000);
  for (const key of ['in debt', 'new']) {
    expect(made.consumeOrDrain(key, 9)).toBe(5);
    clock.advance(99.9);
    expect(made.tryConsume(key)).toBe(false);
    clock.advance(0.1);
    expect(made.tryConsume(key)).toBe(true);
  }
});

test.each([
  [{ capacity: 0 }, RangeError, 'capacity'],
  [{ capacity: 1.5 }, RangeError, 'capacity'],
  [{ capacity: 1e9 }, RangeError, 'capacity'],
  [{ capacity: '9' }, TypeError, 'capacity'],
  [{ rate: 0 }, RangeError, 'rate'],
  [{ burst: undefined }, TypeError, 'burst'],
  [{ whenFull: 'wait' }, RangeError, 'whenFull'],
  [{ whenFull: 1 }, RangeError, 'whenFull'],
  [{ region: {} }, TypeError, 'region'],
] as const)('options %o throw an error that names the option', (options, type, name) => {
  const wrong = () => create(options as unknown as KeyedTokenBucketOptions);
  expect(wrong).toThrow(type);
  expect(wrong).toThrow(expect.objectContaining({ message: expect.stringContaining(name) }));
});

test("a tier that is undefined is the table's own limit, in calls with and without options", async () => {
  const clock = ManualClock.create();
  const made = KeyedTokenBucket.create({ rate: 10, burst: 5, capacity: 10, clock });
  const options = { tier: undefined, timeoutMs: 0 } as object;
  const none = { tier: undefined } as object;
  expect(made.tryConsume('ann', 1, none)).toBe(true);
  expect(await made.wait('ann', 1, options)).toEqual({ waitedMs: 0 });
  expect(made.waitSync('ann', 1, options)).toBe(true);
  expect(made.reserve('ann', 1, none)?.waitMs).toBe(0);
});
