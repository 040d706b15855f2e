import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { LeakyBucket, ManualClock, TokenBucket } from '../../src/index.ts';
import { timers as loop } from '../../src/memory/runtime.ts';
import { settled } from '../support/settled.ts';

const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
const timedOut = expect.objectContaining({
  name: 'RateLimitError',
  code: 'ERR_RATE_LIMIT_TIMEOUT',
});

function emptied(limit: { rate: number; burst: number }) {
  const clock = ManualClock.create();
  return { clock, bucket: TokenBucket.create({ ...limit, initial: 0, clock }) };
}

afterEach(() => vi.restoreAllMocks());

describe('a wait', () => {
  test('for available tokens ends at once, without a timer', async () => {
    const before = timers();
    const bucket = TokenBucket.create({ rate: 1e-6, burst: 5 });
    await bucket.wait(2);
    await bucket.wait(0);
    await bucket.wait();
    expect(bucket.waitSync(1)).toBe(true);
    expect(timers()).toBe(before);
    expect(bucket.balance()).toBeLessThan(1.001);
  });

  // docs/choosing.md: "Buckets accept fractional tokens"
  test('is served in order, so that a large one does not starve', async () => {
    const { clock, bucket } = emptied({ rate: 1000, burst: 100 });
    const served: string[] = [];
    const waits = [1, 100, 1, 2].map(async (n, i) => {
      await bucket.wait(n);
      served.push(`${n} as no. ${i} at ${clock.nowMs}`);
    });
    expect(bucket.tryConsume(), 'nobody passes those who wait').toBe(false);
    for (const [i, ms] of [1, 101, 102, 104].entries()) {
      clock.set(ms - 0.001);
      await settled();
      clock.set(ms);
      await waits[i];
    }
    expect(served).toEqual([
      '1 as no. 0 at 1',
      '100 as no. 1 at 101',
      '1 as no. 2 at 102',
      '2 as no. 3 at 104',
    ]);
  });

  test('that is woken late does not delay the next, so that the average rate is exact', async () => {
    const clock = ManualClock.create();
    const pace = LeakyBucket.create({ rate: 1000, clock });
    for (let i = 0; i <= 1000; i++) {
      const wait = pace.wait();
      // Late by less than an interval; otherwise a slot would be missed.
      const lateMs = ((i * 7) % 8) / 8;
      clock.set(i + lateMs);
      await wait;
    }
    expect(clock.nowMs).toBe(1000);
  });

  // Taf's TokenBucket compares a wait in microseconds with a timeout in milliseconds.
  test.each([
    { waitMs: 900, timeoutMs: 1000, admitted: true },
    { waitMs: 900, timeoutMs: 900, admitted: true },
    { waitMs: 900, timeoutMs: 899.99, admitted: false },
    { waitMs: 900, timeoutMs: 1, admitted: false },
    { waitMs: 900, timeoutMs: 0, admitted: false },
  ])(
    'of $waitMs ms with a timeout of $timeoutMs ms is admitted: $admitted',
    async ({ waitMs, timeoutMs, admitted }) => {
      const { clock, bucket } = emptied({ rate: 1000, burst: 1000 });
      const wait = bucket.wait(waitMs, { timeoutMs });
      if (admitted) {
        expect(bucket.balance()).toBe(-waitMs);
        clock.advance(waitMs);
        await wait;
        return;
      }
      // The call that cannot hang comes first: an admitted wait lasts until the clock moves.
      expect(bucket.balance(), 'nothing was taken').toBe(0);
      expect(bucket.reserve(waitMs, { maxWaitMs: timeoutMs })).toBe(undefined);
      expect(bucket.waitSync(waitMs, { timeoutMs })).toBe(false);
      await expect(wait, 'at once, while the clock stands').rejects.toEqual(timedOut);
      await expect(wait).rejects.toThrow(
        `n = ${waitMs} cannot be granted within timeoutMs = ${timeoutMs}`,
      );
      expect(bucket.balance(), 'nothing was taken').toBe(0);
    },
  );

  test('longer than its timeout by more than half a tick is never accepted', () => {
    const rate = fc.double({ min: -3, max: 6, noNaN: true }).map((power) => 10 ** power);
    const n = fc.integer({ min: 1, max: 100 });
    const part = fc.double({ min: 0, max: 2, noNaN: true });
    const property = fc.property(rate, n, n, part, (rate, taken, n, part) => {
      const { bucket } = emptied({ rate, burst: 100 });
      bucket.acquire(taken);
      const dueMs = ((taken + n) / rate) * 1000;
      const reservation = bucket.reserve(n, { maxWaitMs: dueMs * part });
      const halfTickMs = 1 / 8192 / 1000;
      const slackMs = halfTickMs + dueMs * 2 ** -50;
      if (reservation !== undefined) {
        expect(reservation.waitMs).toBeLessThanOrEqual(dueMs * part + slackMs);
      } else expect(dueMs).toBeGreaterThan(dueMs * part - slackMs);
    });
    fc.assert(property, { numRuns: 1000 });
  });
});

describe('an aborted wait', () => {
  test.each([true, false])(
    'leaves no listener or timer behind, on the system clock, strict: %s',
    async (strict) => {
      const before = timers();
      const bucket = TokenBucket.create({ rate: 0.01, burst: 1, initial: 0 });
      const controller = new AbortController();
      const { signal } = controller;
      const wait = bucket.wait(1, { signal, strict });
      expect(getEventListeners(signal, 'abort')).toHaveLength(1);
      controller.abort();
      await expect(wait).rejects.toHaveProperty('name', 'AbortError');
      expect(getEventListeners(signal, 'abort')).toEqual([]);
      expect(timers()).toBe(before);
      expect(bucket.balance()).toBeGreaterThanOrEqual(0);
    },
  );

  test('can last 34 days, although setTimeout counts at most 24.8', async () => {
    const started = vi.spyOn(loop, 'start');
    const bucket = TokenBucket.create({ rate: 1e-6, burst: 3, initial: 0 });
    const controller = new AbortController();
    let over = false;
    const wait = bucket.wait(3, { signal: controller.signal }).finally(() => {
      over = true;
    });
    const delays = started.mock.calls.map(([, ms]) => ms);
    expect(delays).toEqual([2 ** 31 - 1]);
    await settled();
    expect(over).toBe(false);
    controller.abort('enough');
    await expect(wait).rejects.toBe('enough');
    expect(bucket.balance()).toBeGreaterThanOrEqual(0);
  });
});

describe('a blocking wait on a bucket', () => {
  /** The next sleep is woken at once, after `early`; later ones last their full time. */
  const wakeEarly = (clock: ManualClock, early: () => void) =>
    vi
      .spyOn(clock, 'sleepSync')
      .mockImplementation((untilUs) => void clock.set(untilUs / 1000))
      .mockImplementationOnce(early);

  test('that is woken early goes back to sleep until its instant', () => {
    const { clock, bucket } = emptied({ rate: 10, burst: 5 });
    const sleep = wakeEarly(clock, () => void clock.set(50));
    expect(bucket.waitSync(2)).toBe(true);
    expect(clock.nowMs).toBe(200);
    expect(sleep).toHaveBeenCalledTimes(2);
  });

  test('ends at its new instant when the limit changes, even at the end of its timeout', () => {
    const { clock, bucket } = emptied({ rate: 10, burst: 5 });
    wakeEarly(clock, () => bucket.reconfigure({ rate: 2 }));
    expect(bucket.waitSync(2, { timeoutMs: 1000 })).toBe(true);
    expect(clock.nowMs).toBe(1000);
  });

  test('puts its tokens back if the thread cannot block', () => {
    const { clock, bucket } = emptied({ rate: 10, burst: 5 });
    wakeEarly(clock, () => {
      throw new Error('not here');
    });
    expect(() => bucket.waitSync(2)).toThrow('not here');
    expect(bucket.balance()).toBe(0);
  });
});
