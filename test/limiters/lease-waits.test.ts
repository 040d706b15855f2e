import { describe, expect, test } from 'vitest';
import { leased } from '../support/leased.ts';

describe('a wait on a lease', () => {
  test('ends at once if stock and bucket hold enough', async () => {
    const { lease, bucket } = leased({ rate: 10, burst: 10 }, 8);
    await lease.wait();
    expect(lease.stock).toBe(4);
    await lease.wait(2);
    expect([lease.stock, bucket.stats().calls]).toEqual([2, 1]);
    expect(lease.waitSync()).toBe(true);
    expect([lease.stock, bucket.stats().calls]).toEqual([1, 1]);
    await lease.wait(6);
    expect([lease.stock, bucket.balance()]).toEqual([0, 0]);
  });

  // docs/tuning.md: "If they are too few, the stock goes back"
  test('for more waits in order on the bucket for the missing tokens', async () => {
    const { clock, lease, bucket } = leased({ rate: 10, burst: 10 }, 8);
    lease.tryConsume();
    bucket.tryConsume(5);
    let over = false;
    const waiting = lease.wait(6).then(() => {
      over = true;
    });
    expect([lease.stock, bucket.balance()]).toEqual([0, -2]);
    clock.advance(199);
    await new Promise(setImmediate);
    expect(over).toBe(false);
    clock.advance(1);
    await waiting;
    expect(bucket.timeUntil(1)).toBe(100);
  });

  test('that would exceed its timeout fails at once, and takes nothing', async () => {
    const { lease } = leased({ rate: 10, burst: 10 }, 8);
    lease.tryConsume(8);
    const timedOut = expect.objectContaining({ code: 'ERR_RATE_LIMIT_TIMEOUT' });
    await expect(lease.wait(4, { timeoutMs: 199 })).rejects.toEqual(timedOut);
    expect(lease.waitSync(4, { timeoutMs: 199 })).toBe(false);
    expect(lease.available()).toBe(2);
    expect(lease.waitSync(2, { timeoutMs: 0 })).toBe(true);
  });

  test('that is aborted takes nothing', async () => {
    const { lease } = leased({ rate: 10, burst: 10 }, 8);
    lease.tryConsume(8);
    const controller = new AbortController();
    const waiting = lease.wait(4, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(lease.wait(1, { signal: controller.signal })).rejects.toThrow('enough');
    expect(lease.available()).toBe(2);
  });

  test('for more than the burst is reported as never possible', async () => {
    const { lease } = leased({ rate: 10, burst: 10 }, 64);
    lease.tryConsume();
    const exceeds = expect.objectContaining({ code: 'ERR_EXCEEDS_BURST' });
    await expect(lease.wait(11)).rejects.toEqual(exceeds);
    expect(() => lease.waitSync(11)).toThrow(exceeds);
    expect(lease.available()).toBe(9);
  });
});

describe('draining a lease', () => {
  test('gets all whole tokens of stock and bucket together', () => {
    const { bucket, lease } = leased({ rate: 10, burst: 10.5 }, 8);
    expect(lease.consumeOrDrain(2.9)).toBe(2);
    expect([lease.stock, bucket.available()]).toEqual([3, 5.5]);
    expect(lease.tryConsume(0.25)).toBe(true);
    expect(lease.consumeOrDrain(100)).toBe(8);
    expect(lease.consumeOrDrain(100)).toBe(0);
    expect(lease.available()).toBe(0.25);
  });
});
