import { describe, expect, onTestFinished, test } from 'vitest';
import { TokenBucket } from '../../src/index.ts';
import { leased, spendAll } from '../support/leased.ts';
import { KILLED, Preemption } from '../support/preemption.ts';

describe('a lease that is released', () => {
  test('returns its stock and reports the number; then it takes new tokens', () => {
    const { bucket, lease } = leased({ rate: 10, burst: 100 }, 20);
    lease.tryConsume(2.5);
    expect(lease.release()).toBe(17.5);
    expect([lease.stock, bucket.available()]).toEqual([0, 97.5]);
    expect(lease.release()).toBe(0);
    expect(lease.tryConsume()).toBe(true);
    expect(lease.stock).toBe(19);
    lease[Symbol.dispose]();
    expect([lease.stock, bucket.available()]).toEqual([0, 96.5]);
  });

  test('never fills the bucket beyond its burst', () => {
    const { clock, bucket, lease } = leased({ rate: 10, burst: 100 }, 20);
    lease.tryConsume();
    clock.advance(60_000);
    expect(lease.release()).toBe(19);
    expect(bucket.available()).toBe(100);
  });
});

describe('a lease does not outlive a reconfiguration:', () => {
  test('its stock is returned, and the new burst caps it', () => {
    const { bucket, lease } = leased({ rate: 10, burst: 1000 }, 64);
    const other = TokenBucket.attach(structuredClone(bucket.handle));
    lease.tryConsume();
    other.reconfigure({ rate: 1, burst: 5 });
    expect(spendAll(lease)).toBe(5);
  });

  test('it takes at most the new burst at once, and more when the burst grows again', () => {
    const { clock, bucket, lease } = leased({ rate: 10, burst: 1000 }, 64);
    bucket.reconfigure({ burst: 5 });
    expect(lease.tryConsume()).toBe(true);
    expect(lease.stock).toBe(1);
    clock.advance(1000);
    expect(lease.tryConsume(6)).toBe(false);
    expect(lease.tryConsume(5)).toBe(true);
    bucket.reconfigure({ burst: 1000 });
    clock.advance(100_000);
    expect(lease.tryConsume(6)).toBe(true);
    expect(lease.stock).toBe(58);
    expect(lease.tryConsume()).toBe(true);
    expect(lease.stock).toBe(57);
  });

  test('it notices the change even if the bucket is empty', () => {
    const { bucket, lease } = leased({ rate: 10, burst: 1000 }, 64);
    lease.tryConsume();
    bucket.consumeOrDrain(1000);
    bucket.reconfigure({ rate: 1, burst: 1 });
    expect(lease.available()).toBe(1);
    expect(lease.stock).toBe(0);
    expect(spendAll(lease)).toBe(1);
  });

  test.each([1, 7, 8, 9, 100])('nor %d of them, whichever record is live afterwards', (times) => {
    const { bucket, lease } = leased({ rate: 10, burst: 1000 }, 64);
    lease.tryConsume();
    for (let i = 1; i <= times; i++) bucket.reconfigure({ rate: 10 + i, burst: 5 });
    expect(spendAll(lease)).toBe(5);
  });

  test('nor a renewal of the record after two weeks, which loses no token', () => {
    const { clock, bucket, lease } = leased({ rate: 0.001, burst: 2000 }, 64);
    lease.tryConsume();
    expect(bucket.consumeOrDrain(2000)).toBe(1936);
    clock.advance(1.3e9);
    expect(bucket.tryConsume(1300)).toBe(true);
    expect(spendAll(lease)).toBe(63);
  });

  test('but outlives a change whose thread was terminated before making it', () => {
    const preemption = new Preemption();
    onTestFinished(() => preemption.restore());
    let deaths = 0;
    for (let at = 1; at <= 16; at++) {
      const { bucket, lease } = leased({ rate: 10, burst: 100 }, 64);
      lease.tryConsume();
      const change = () => bucket.reconfigure({ rate: 5 });
      if (preemption.call(change, at, () => undefined, true) !== KILLED) break;
      if (bucket.rate !== 10) continue;
      deaths++;
      const { stock } = lease;
      expect(lease.tryConsume()).toBe(true);
      expect([lease.stock, bucket.stats().calls]).toEqual([stock - 1, 1]);
    }
    expect(deaths).toBeGreaterThan(3);
  });
});
