import { describe, expect, it } from 'vitest';
import {
  allOf,
  type Limiter,
  ManualClock,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';

/** As if another thread took all tokens just before each take, and returned them just after it. */
describe('allOf the same limiter, given more than once', () => {
  const clock = ManualClock.create();
  const shared = { clock, kernel: 'wasm' } as const;
  const wide = { limit: 7, intervalMs: 1000, ...shared };

  it.each<[string, () => Limiter[]]>([
    ['a bucket', () => Array(3).fill(TokenBucket.create({ rate: 1, burst: 7, ...shared }))],
    [
      'attachments',
      () => {
        const bucket = TokenBucket.create({ rate: 1, burst: 7, ...shared });
        const again = () => TokenBucket.attach(structuredClone(bucket.handle));
        return [bucket, TokenBucket.attach(bucket.handle), again()];
      },
    ],
    [
      'a nested combination',
      () => {
        const window = SlidingWindow.create(wide);
        return [allOf(window, SlidingWindow.attach(structuredClone(window.handle))), window];
      },
    ],
    ['a log', () => Array(3).fill(SlidingLog.create(wide))],
    [
      'a key',
      () => {
        const table = KeyedTokenBucket.create({ rate: 1, burst: 7, capacity: 9, ...shared });
        const other = KeyedTokenBucket.attach(structuredClone(table.handle));
        return [table.for('ann'), table.for('ann'), other.for('ann')];
      },
    ],
  ])('asks for the sum: %s', async (_, make) => {
    const parts = make();
    const all = allOf(...parts, TokenBucket.create({ rate: 1000, burst: 100, ...shared }));
    const last = parts.at(-1);
    const floor = Math.floor(all.limit);
    expect([floor, Math.floor(all.available())]).toEqual([2, 2]);
    expect(all.timeUntil(3)).toBe(Number.POSITIVE_INFINITY);
    expect(all.tryConsume(3)).toBe(false);
    await expect(all.wait(3)).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
    expect(() => all.waitSync(3)).toThrow(/^n must be at most /);
    expect(last?.available()).toBe(7);
    expect(all.tryConsume()).toBe(true);
    expect(last?.available()).toBe(4);
    expect(all.tryConsume()).toBe(true);
    expect(all.tryConsume()).toBe(false);
    expect(last?.available()).toBe(1);
  });

  it('is not confused with others of the same kind, and the same key of another table', () => {
    const limit = { rate: 1, burst: 5, capacity: 9, ...shared };
    const [table, other] = [KeyedTokenBucket.create(limit), KeyedTokenBucket.create(limit)];
    const parts = [table.for('ann'), table.for('bob'), other.for('ann')];
    expect(allOf(...parts).tryConsume(5)).toBe(true);
  });
});
