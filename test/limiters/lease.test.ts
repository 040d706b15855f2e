import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Lease } from '../../src/index.ts';
import type { TokenKernel } from '../../src/kernel/bucket/kernel.ts';
import { leased, spendAll } from '../support/leased.ts';
import { Random, SEED } from '../support/random.ts';
import { Rational } from '../support/rational.ts';

afterEach(() => vi.restoreAllMocks());

describe('a lease', () => {
  test('asks the bucket once per `size` tokens', () => {
    const { bucket, lease } = leased({ rate: 10, burst: 1000 }, 64);
    for (let spent = 1; spent <= 64; spent++) {
      expect(lease.tryConsume()).toBe(true);
      expect([lease.stock, bucket.available()]).toEqual([64 - spent, 936]);
    }
    expect(bucket.stats().calls).toBe(1);
    expect(lease.tryConsume()).toBe(true);
    expect([lease.stock, bucket.available(), bucket.stats().calls]).toEqual([63, 872, 2]);
  });

  // docs/tuning.md: "A lease never takes more than half"
  test('takes at most half of the available tokens, unless a call needs more', () => {
    const { bucket, lease } = leased({ rate: 10, burst: 11 }, 64);
    lease.tryConsume();
    expect([lease.stock, bucket.available()]).toEqual([4, 6]);
    expect(lease.tryConsume(9)).toBe(true);
    expect([lease.stock, bucket.available()]).toEqual([0, 1]);
    expect([lease.tryConsume(), lease.tryConsume()]).toEqual([true, false]);
  });

  test('takes only what a call needs if another thread takes the rest first', () => {
    const { bucket, lease } = leased({ rate: 10, burst: 64, initial: 3 }, 64);
    const kernel: TokenKernel = Reflect.get(bucket, 'kernel');
    vi.spyOn(kernel, 'balance').mockReturnValueOnce(100);
    expect(lease.tryConsume()).toBe(true);
    expect([lease.stock, bucket.available()]).toEqual([0, 2]);
  });

  test('asks once for tokens that are not available', () => {
    const { bucket, lease } = leased({ rate: 10, burst: 5, initial: 0 }, 4);
    expect(lease.tryConsume()).toBe(false);
    expect(bucket.stats()).toMatchObject({ calls: 1, refused: 1 });
  });

  test('reads the balance again only after the bucket has admitted a call', () => {
    const { bucket, lease } = leased({ rate: 10, burst: 100, initial: 0 }, 64);
    const kernel: TokenKernel = Reflect.get(bucket, 'kernel');
    const balance = vi.spyOn(kernel, 'balance');
    expect([lease.tryConsume(), lease.tryConsume()]).toEqual([false, false]);
    expect(balance).toHaveBeenCalledTimes(1);
    bucket.returnTokens(41);
    expect(lease.tryConsume()).toBe(true);
    expect([lease.stock, balance.mock.calls.length]).toEqual([0, 1]);
    expect(lease.tryConsume()).toBe(true);
    expect([lease.stock, balance.mock.calls.length]).toEqual([19, 2]);
  });

  test('spends every token that flows in, and not one more', () => {
    const { clock, lease } = leased({ rate: 10, burst: 100 }, 64);
    expect(spendAll(lease)).toBe(100);
    clock.advance(99);
    expect(spendAll(lease)).toBe(0);
    clock.advance(1);
    expect(spendAll(lease)).toBe(1);
    clock.advance(5000);
    expect(spendAll(lease)).toBe(50);
  });

  test('admits n = 0 and takes nothing', () => {
    const { bucket, lease } = leased({ rate: 10, burst: 1, initial: 0 }, 4);
    expect(lease.tryConsume(0)).toBe(true);
    expect([lease.stock, bucket.available()]).toEqual([0, 0]);
  });

  test('returns its stock and asks the bucket for more than its size', () => {
    const { bucket, lease } = leased({ rate: 10, burst: 100 }, 10);
    lease.tryConsume();
    expect([lease.stock, bucket.available()]).toEqual([9, 90]);
    expect(lease.tryConsume(100)).toBe(false);
    expect(lease.tryConsume(99)).toBe(true);
    expect([lease.stock, bucket.available()]).toEqual([0, 0]);
  });

  test('never grants more than the burst at once, however much is in stock', () => {
    const { clock, bucket, lease } = leased({ rate: 10, burst: 10 }, 64);
    lease.tryConsume();
    clock.advance(10_000);
    expect([lease.stock, bucket.available(), lease.available()]).toEqual([4, 10, 10]);
    expect(lease.tryConsume(10.5)).toBe(false);
    expect(lease.tryConsume(10)).toBe(true);
  });

  test.each([0.1, 0.3, 1.1, 2 ** -31])('admits a call for the whole burst: %d', (burst) => {
    const { clock, bucket, lease } = leased({ rate: 1, burst }, 4);
    for (let call = 0; call < 3; call++) {
      expect(lease.tryConsume(burst)).toBe(true);
      expect([lease.stock, bucket.available(), lease.tryConsume(burst)]).toEqual([0, 0, false]);
      clock.advance(2000);
    }
  });

  test('works on an unlimited bucket', () => {
    const { bucket, lease } = leased({ rate: Number.POSITIVE_INFINITY, burst: 1e9 }, 64);
    for (let spent = 0; spent < 1000; spent++) expect(lease.tryConsume(0.7)).toBe(true);
    expect(lease.tryConsume(1e300)).toBe(true);
    expect(lease.consumeOrDrain(1e300)).toBe(1e300);
    expect([lease.available(), bucket.available()]).toEqual([1e9, Number.POSITIVE_INFINITY]);
  });

  test('charges the smallest fraction as 2^-30 of a token', () => {
    const { lease } = leased({ rate: 1000, burst: 4 }, 2);
    lease.tryConsume();
    expect(lease.tryConsume(1 - 2 ** -30)).toBe(true);
    expect(lease.stock).toBe(2 ** -30);
    expect(lease.tryConsume(1e-300)).toBe(true);
    expect(lease.stock).toBe(0);
  });

  test('rounds fractions against the spender: their sum never exceeds the tokens available', () => {
    const fractions = fc.array(fc.double({ min: 1e-12, max: 9, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(fractions, (amounts) => {
        const { lease } = leased({ rate: 1000, burst: 50 }, 16);
        let spent = Rational.ZERO;
        let round = 0;
        for (let refused = 0; refused < amounts.length && round < 2000; round++) {
          const n = amounts[round % amounts.length] ?? 1;
          if (lease.tryConsume(n)) {
            spent = spent.plus(Rational.of(n));
            refused = 0;
          } else refused++;
        }
        expect(Rational.of(50).minus(spent).toNumber()).toBeGreaterThanOrEqual(0);
        if (round < 2000) expect(lease.available()).toBeLessThan(Math.min(...amounts) + 1e-5);
      }),
      { numRuns: 100 },
    );
  });

  test('shares a nearly empty bucket: two leases that take turns both get tokens', () => {
    const { clock, bucket, leases } = leased({ rate: 1000, burst: 1000, initial: 0 }, 64, 64);
    for (let round = 0; round < 100; round++) {
      clock.advance(4);
      for (const lease of [...leases, ...leases.toReversed()]) {
        expect(lease.tryConsume(), `in round ${round}`).toBe(true);
      }
      expect(bucket.available()).toBe(0);
    }
  });

  test('shares the last of a burst with the leases that take turns with it', () => {
    const { leases } = leased({ rate: 1, burst: 1024 }, 1024, 1024, 1024, 1024);
    const got = leases.map(() => 0);
    for (let turn = 0, refused = 0; refused < leases.length; turn++) {
      const me = turn % leases.length;
      if (leases[me]?.tryConsume()) {
        got[me] = (got[me] ?? 0) + 1;
        refused = 0;
      } else refused++;
    }
    for (const tokens of got) expect(tokens).toBeGreaterThan(50);
    expect(got.reduce((sum, tokens) => sum + tokens)).toBe(1024);
  });
});

describe('the bound with leases', () => {
  test('is reached: full stocks and a full bucket can be spent at one instant', () => {
    const { clock, bucket, leases } = leased({ rate: 10, burst: 100 }, 16, 16, 16);
    for (const lease of leases) lease.tryConsume();
    clock.advance(60_000);
    expect(bucket.available()).toBe(100);
    const spent = leases.map(spendAll).reduce((sum, tokens) => sum + tokens);
    expect(spent).toBe(100 + 3 * 15);
  });

  // docs/tuning.md: "In any interval of t seconds at most burst + rate x t + leases"
  test(`burst + rate x t + leases x size, holds in every interval (ZEROTIME_SEED=${SEED})`, () => {
    const random = new Random(SEED);
    const rate = 100;
    for (let run = 0; run < 100; run++) {
      const burst = 1 + random.below(100);
      const sizes = Array.from({ length: 1 + random.below(4) }, () => 1 + random.below(64));
      const { clock, leases } = leased({ rate, burst }, ...sizes);
      const widened = burst + sizes.reduce((sum, size) => sum + size);
      const spends: { atMs: number; tokens: number }[] = [];
      for (let call = 0; call < 200; call++) {
        // Quiet times too, in which the bucket fills while stocks are held.
        if (random.below(4) === 0) clock.advance(random.below(random.pick([10, 100, 2000])));
        const lease = leases[random.below(leases.length)] as Lease;
        const n = random.pick([1, 1, 1, 3, 0.5, 20, 70]);
        const how = random.pick(['tryConsume', 'tryConsume', 'consumeOrDrain', 'release']);
        if (how === 'release') {
          lease.release();
          continue;
        }
        const drains = how === 'consumeOrDrain';
        const tokens = drains ? lease.consumeOrDrain(n) : lease.tryConsume(n) ? n : 0;
        spends.push({ atMs: clock.nowMs, tokens });
      }
      let most = Number.NEGATIVE_INFINITY;
      for (const [i, { atMs: fromMs }] of spends.entries()) {
        let spent = 0;
        for (const { atMs, tokens } of spends.slice(i)) {
          spent += tokens;
          most = Math.max(most, spent - (rate * (atMs - fromMs)) / 1000);
        }
      }
      expect(most).toBeLessThanOrEqual(widened + 1e-6);
    }
  });
});

describe('a lease names the error in', () => {
  test.each([
    [0, RangeError],
    [1.5, RangeError],
    [2 ** 20 + 1, RangeError],
    [Number.NaN, RangeError],
    [Number.POSITIVE_INFINITY, RangeError],
    ['64', TypeError],
    [undefined, TypeError],
  ])('a size of %s', (size, error) => {
    const { bucket } = leased({ rate: 10, burst: 10 });
    const take = () => bucket.lease({ size: size as number });
    expect(take).toThrow(error);
    expect(take).toThrow(/^size must be an integer at least 1 and at most 1048576, got /);
  });

  test('options that are not an object', () => {
    const { bucket } = leased({ rate: 10, burst: 10 });
    expect(() => bucket.lease(64 as never)).toThrow('options must be an object, got 64');
  });

  test.each([
    [-1, RangeError],
    [Number.NaN, RangeError],
    [Number.POSITIVE_INFINITY, RangeError],
    ['1', TypeError],
    [null, TypeError],
  ])('n = %s, and takes nothing', async (value, error) => {
    const { lease } = leased({ rate: 10, burst: 10 }, 4);
    const n = value as number;
    for (const call of [
      () => lease.tryConsume(n),
      () => lease.consumeOrDrain(n),
      () => lease.waitSync(n),
    ]) {
      expect(call).toThrow(error);
      expect(call).toThrow(/^n must be .*, got /);
    }
    await expect(lease.wait(n)).rejects.toThrow(error);
    await expect(lease.wait(n)).rejects.toThrow(/^n must be .*, got /);
    await expect(lease.wait(1, 5 as never)).rejects.toThrow('options must be an object, got 5');
    expect(lease.available()).toBe(10);
  });
});

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

  test.each([9, 10, 100])('takes the stock, and no debt of the bucket: %d of 9', (n) => {
    const { bucket, lease } = leased({ rate: 10, burst: 18 }, 9);
    expect(lease.tryConsume(0.5)).toBe(true);
    expect(lease.stock).toBe(8.5);
    bucket.charge(30);
    expect([lease.tryConsume(n), lease.available()]).toEqual([false, 8.5]);
    expect([lease.consumeOrDrain(n), lease.stock]).toEqual([8, 0.5]);
    expect(bucket.balance()).toBe(-21);
  });

  test('keeps the stock of a wait that fails while the bucket is in debt', async () => {
    const { bucket, lease } = leased({ rate: 10, burst: 18 }, 9);
    expect(lease.tryConsume()).toBe(true);
    bucket.charge(30);
    expect(lease.waitSync(10, { timeoutMs: 0 })).toBe(false);
    for (const [n, options] of [[10, { timeoutMs: 0 }], [19], [10, { maxWaiting: 0 }]] as const) {
      await expect(lease.wait(n, options)).rejects.toThrow();
    }
    expect([lease.stock, bucket.balance()]).toEqual([8, -21]);
  });
});
