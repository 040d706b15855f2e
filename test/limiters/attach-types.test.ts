import { expect, expectTypeOf, test } from 'vitest';
import { attach, FixedWindow, KeyedTokenBucket, type Limiter } from '../../src/index.ts';

test('attach infers the class of a typed handle, and the common methods of any other', () => {
  const window = FixedWindow.create({ limit: 1, intervalMs: 1000 });
  expectTypeOf(attach(window.handle)).toEqualTypeOf<FixedWindow>();
  // biome-ignore lint/suspicious/noExplicitAny: the type of `workerData`
  const untyped: any = window.handle;
  const limiter = attach(untyped);
  expectTypeOf(limiter).toEqualTypeOf<Limiter>();
  expect(limiter.tryConsume()).toBe(true);
  expectTypeOf(attach<'fixed-window'>(untyped)).toEqualTypeOf<FixedWindow>();
  const keyed = KeyedTokenBucket.create({ rate: 1, burst: 1, capacity: 1 });
  expectTypeOf(attach(keyed.handle)).toEqualTypeOf<KeyedTokenBucket>();
});
