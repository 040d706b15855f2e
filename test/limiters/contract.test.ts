import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RateLimitError } from '../../src/index.ts';
import { LIMIT, LIMITER_CASES, someClock } from '../support/limiter-cases.ts';
import { settled } from '../support/settled.ts';

const BAD_TOKENS: readonly [value: unknown, error: typeof RangeError | typeof TypeError][] = [
  [-1, RangeError],
  [Number.NaN, RangeError],
  [Number.POSITIVE_INFINITY, RangeError],
  ['1', TypeError],
  [null, TypeError],
  [1n, TypeError],
];

async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof RateLimitError ? error.code : error;
}

describe.each(LIMITER_CASES)(
  '$name, with kernel $kernel, fulfills the contract of every limiter:',
  (limiterCase) => {
    const make = () => {
      const clock = someClock();
      return { clock, limiter: limiterCase.create(clock) };
    };

    it('uses the requested kernel', () => {
      const { limiter } = make();
      // allOf, a key and the plain bucket cannot choose a kernel.
      if (limiter.kernelName === undefined) return expect(limiter.handle).toBeUndefined();
      expect(limiter.kernelName).toBe(limiterCase.kernel);
      expect(limiterCase.attach?.(limiter).kernelName).toBe(limiterCase.kernel);
    });

    it('admits its limit one by one, and not one more', () => {
      const { limiter } = make();
      const outcomes = Array.from({ length: LIMIT + 1 }, () => limiter.tryConsume());
      expect(outcomes).toEqual([...Array(LIMIT).fill(true), false]);
    });

    it('admits its limit in one call, and then nothing', () => {
      const { limiter } = make();
      expect(limiter.limit).toBe(LIMIT);
      expect(limiter.available()).toBe(LIMIT);
      expect(limiter.tryConsume(LIMIT)).toBe(true);
      expect(limiter.tryConsume()).toBe(false);
      expect(limiter.available()).toBe(0);
    });

    it('takes all or nothing', () => {
      const { limiter } = make();
      expect(limiter.tryConsume(LIMIT - 1)).toBe(true);
      expect(limiter.tryConsume(2)).toBe(false);
      expect(limiter.available()).toBe(1);
      expect(limiter.tryConsume(1)).toBe(true);
    });

    it('has its whole limit available after its refill, and no sooner', () => {
      const { clock, limiter } = make();
      limiter.tryConsume(LIMIT);
      clock.advance(limiterCase.refillMs - 0.01);
      expect(limiter.tryConsume(LIMIT)).toBe(false);
      clock.advance(0.01);
      expect(limiter.tryConsume(LIMIT)).toBe(true);
    });

    it('admits n = 0 and takes nothing, even when it is empty', () => {
      const { limiter } = make();
      expect(limiter.tryConsume(0)).toBe(true);
      expect(limiter.available()).toBe(LIMIT);
      limiter.tryConsume(LIMIT);
      expect(limiter.tryConsume(0)).toBe(true);
      expect(limiter.decide(0).allowed).toBe(true);
    });

    // docs/guide.md: "A request larger than the burst can never succeed"
    // docs/errors.md: "An error means that a request can never be granted"
    it('reports more than its limit as never possible', async () => {
      const { limiter } = make();
      expect(limiter.tryConsume(LIMIT + 1)).toBe(false);
      expect(limiter.timeUntil(LIMIT + 1)).toBe(Number.POSITIVE_INFINITY);
      expect(limiter.decide(LIMIT + 1)).toMatchObject({
        allowed: false,
        retryAfterMs: Number.POSITIVE_INFINITY,
        remaining: LIMIT,
      });
      expect(await codeOf(limiter.wait(LIMIT + 1))).toBe('ERR_EXCEEDS_BURST');
      expect(() => limiter.waitSync(LIMIT + 1)).toThrow(RateLimitError);
      expect(limiter.available()).toBe(LIMIT);
    });

    it.each(BAD_TOKENS)('names n and the value for n = %s', async (value, error) => {
      const { limiter } = make();
      const n = value as number;
      for (const call of [
        () => limiter.tryConsume(n),
        () => limiter.decide(n),
        () => limiter.waitSync(n),
        () => limiter.consumeOrDrain?.(n) ?? limiter.tryConsume(n),
      ]) {
        expect(call).toThrow(error);
        expect(call).toThrow(/^n must be .*, got /);
      }
      expect(() => limiter.timeUntil(n)).toThrow(/^tokens must be .*, got /);
      await expect(limiter.wait(n)).rejects.toThrow(error);
      expect(limiter.available()).toBe(LIMIT);
    });

    it('reports when one more token will remain, and that none will if it is full', () => {
      const { clock, limiter } = make();
      const check = (n: number) => {
        const { remaining, nextTokenMs } = limiter.decide(n);
        expect(nextTokenMs).toBeCloseTo(limiter.timeUntil(remaining + 1), 6);
        if (nextTokenMs === Number.POSITIVE_INFINITY) {
          expect(remaining).toBe(LIMIT);
          return;
        }
        expect(nextTokenMs).toBeGreaterThan(0);
        clock.advance(nextTokenMs - 0.01);
        expect(limiter.decide(0).remaining).toBe(remaining);
        clock.advance(0.01);
        expect(limiter.decide(0).remaining).toBeGreaterThan(remaining);
      };
      expect(limiter.decide(0).nextTokenMs).toBe(Number.POSITIVE_INFINITY);
      for (const n of [0, 1, 2, 1, LIMIT, 1, 1, 0]) {
        check(n);
        clock.advance(limiterCase.refillMs / 7);
      }
    });

    it('reports in a refusal when a retry succeeds: then it does, and not before', () => {
      const { clock, limiter } = make();
      limiter.tryConsume(LIMIT);
      const { allowed, retryAfterMs, resetMs, remaining, limit } = limiter.decide();
      expect({ allowed, remaining, limit }).toEqual({ allowed: false, remaining: 0, limit: LIMIT });
      expect(resetMs).toBeCloseTo(limiterCase.refillMs, 3);
      expect(retryAfterMs).toBeGreaterThan(0);
      clock.advance(retryAfterMs - 0.01);
      expect(limiter.tryConsume()).toBe(false);
      clock.advance(0.01);
      expect(limiter.decide()).toMatchObject({ allowed: true, retryAfterMs: 0 });
    });

    it('decides as tryConsume does', () => {
      const { clock, limiter } = make();
      const twin = limiterCase.create(clock);
      const steps = fc.array(
        fc.record({
          n: fc.integer({ min: 0, max: LIMIT + 1 }),
          ms: fc.integer({ min: 0, max: 300 }),
        }),
        { maxLength: 40 },
      );
      fc.assert(
        fc.property(steps, (calls) => {
          for (const { n, ms } of calls) {
            clock.advance(ms);
            expect(limiter.decide(n).allowed).toBe(twin.tryConsume(n));
          }
        }),
        { numRuns: 50 },
      );
    });

    it('admits nothing because its clock stepped back', () => {
      const { clock, limiter } = make();
      limiter.tryConsume(LIMIT);
      clock.set(clock.nowMs - 100_000);
      expect(limiter.tryConsume()).toBe(false);
      expect(limiter.available()).toBe(0);
      clock.advance(100_000);
      expect(limiter.tryConsume()).toBe(false);
    });

    it('drains what is available', () => {
      const { limiter } = make();
      if (limiter.consumeOrDrain === undefined) return expect(limiterCase.name).toBe('allOf');
      expect(limiter.consumeOrDrain(2)).toBe(2);
      expect(limiter.consumeOrDrain(LIMIT)).toBe(LIMIT - 2);
      expect(limiter.consumeOrDrain(1)).toBe(0);
    });

    // README.md: "A wait never ends early"
    it('waits until its clock has reached the instant, and no longer', async () => {
      const { clock, limiter } = make();
      limiter.tryConsume(LIMIT);
      const waitMs = limiter.timeUntil(1);
      let done = false;
      const wait = limiter.wait().then(() => {
        done = true;
      });
      clock.advance(waitMs - 0.01);
      await new Promise(setImmediate);
      expect(done).toBe(false);
      clock.advance(0.01);
      await wait;
      expect(done).toBe(true);
    });

    it('sleeps once until the instant, without polling', async () => {
      const { clock, limiter } = make();
      limiter.tryConsume(LIMIT);
      const waitMs = limiter.timeUntil(1);
      const dueUs = clock.now() + waitMs * 1000;
      const sleep = clock.sleep.bind(clock);
      const sleeps: number[] = [];
      clock.sleep = (untilUs, ...how) => {
        sleeps.push(untilUs);
        return sleep(untilUs, ...how);
      };
      const wait = limiter.wait();
      clock.advance(waitMs / 2);
      await settled();
      clock.set(dueUs / 1000);
      await wait;
      expect(sleeps).toEqual([expect.closeTo(dueUs, 1)]);
    });

    it.each([[false], [true]])('blocks until the instant, in one sleep, strict: %s', (strict) => {
      const { clock, limiter } = make();
      limiter.tryConsume(LIMIT);
      const waitMs = limiter.timeUntil(1);
      const dueUs = clock.now() + waitMs * 1000;
      const sleeps: unknown[] = [];
      clock.sleepSync = (untilUs, options) => {
        // Its other options name memory, all of which a failure would print.
        sleeps.push([untilUs, options?.strict]);
        clock.set(untilUs / 1000);
      };
      expect(limiter.waitSync(1, { strict, timeoutMs: waitMs })).toBe(true);
      expect(sleeps).toEqual([[expect.closeTo(dueUs, 1), strict]]);
      expect(limiter.tryConsume(LIMIT)).toBe(false);
      clock.advance(limiterCase.refillMs);
      expect(limiter.waitSync(1)).toBe(true);
      expect(limiter.waitSync(0)).toBe(true);
      expect(sleeps).toHaveLength(1);
    });

    it('fails a wait at once, and takes nothing, if it would exceed timeoutMs', async () => {
      const { limiter } = make();
      limiter.tryConsume(LIMIT);
      const waitMs = limiter.timeUntil(1);
      const timeoutMs = waitMs - 0.01;
      expect(await codeOf(limiter.wait(1, { timeoutMs }))).toBe('ERR_RATE_LIMIT_TIMEOUT');
      expect(limiter.waitSync(1, { timeoutMs })).toBe(false);
      expect(limiter.timeUntil(1)).toBe(waitMs);
    });

    it('ends an aborted wait with the reason, and leaves tokens and listeners unchanged', async () => {
      const { limiter } = make();
      limiter.tryConsume(LIMIT);
      const waitMs = limiter.timeUntil(1);
      const controller = new AbortController();
      const wait = limiter.wait(1, { signal: controller.signal });
      controller.abort(new Error('enough'));
      await expect(wait).rejects.toThrow('enough');
      expect(limiter.timeUntil(1)).toBe(waitMs);
      expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
      await expect(limiter.wait(1, { signal: controller.signal })).rejects.toThrow('enough');
      expect(limiter.timeUntil(1)).toBe(waitMs);
    });

    it('names invalid wait options', async () => {
      const { limiter } = make();
      await expect(limiter.wait(1, { timeoutMs: -1 })).rejects.toThrow(/^timeoutMs must be /);
      await expect(limiter.wait(1, { strict: 1 as never })).rejects.toThrow(/^strict must be /);
      await expect(limiter.wait(1, { signal: {} as never })).rejects.toThrow(/^signal must be /);
      expect(() => limiter.waitSync(1, { timeoutMs: Number.NaN })).toThrow(/^timeoutMs must be /);
      expect(limiter.available()).toBe(LIMIT);
    });

    it('is the same limiter on every thread that attaches', () => {
      const { clock, limiter } = make();
      if (limiterCase.attach === undefined) return expect(limiter.handle).toBeUndefined();
      const other = limiterCase.attach(limiter);
      // `not.toBe` would compare all of their bytes for its message.
      expect(other === limiter).toBe(false);
      expect(other.constructor).toBe(limiter.constructor);
      expect(other.tryConsume(LIMIT - 1)).toBe(true);
      expect(limiter.available()).toBe(1);
      expect(limiter.tryConsume(2)).toBe(false);
      expect(limiter.tryConsume()).toBe(true);
      clock.advance(limiterCase.refillMs);
      expect(other.tryConsume(LIMIT)).toBe(true);
    });

    it('counts calls, tokens and refusals over all attached instances', () => {
      const { clock, limiter } = make();
      if (limiter.stats === undefined) return expect(limiter.handle).toBeUndefined();
      const other = limiterCase.attach?.(limiter);
      limiter.tryConsume(2);
      // At the same instant, two attached instances would count as two racing threads.
      clock.advance(0.01);
      other?.tryConsume(LIMIT - 2);
      other?.tryConsume();
      limiter.decide(2);
      limiter.consumeOrDrain?.(1);
      limiter.consumeOrDrain?.(0);
      expect(limiter.timeUntil(0)).toBe(0);
      expect(limiter.stats()).toEqual({
        calls: 6,
        admitted: LIMIT,
        refused: 3,
        failedExchanges: 0,
        waiting: 0,
      });
      expect(other?.stats?.()).toEqual(limiter.stats());
    });

    it('counts a wait once, however often it tries, and one that fails as refused', async () => {
      const { clock, limiter } = make();
      if (limiter.stats === undefined) return expect(limiter.handle).toBeUndefined();
      expect(await limiter.wait(LIMIT)).toEqual({ waitedMs: 0 });
      const waits = [limiter.wait(2), limiter.wait(LIMIT - 2)];
      clock.advance(limiterCase.refillMs);
      await Promise.all(waits);
      expect(limiter.stats()).toMatchObject({ calls: 3, admitted: 2 * LIMIT, refused: 0 });
      expect(await codeOf(limiter.wait(1, { timeoutMs: 1 }))).toBe('ERR_RATE_LIMIT_TIMEOUT');
      expect(limiter.waitSync(1, { timeoutMs: 0 })).toBe(false);
      expect(limiter.stats()).toMatchObject({ calls: 5, admitted: 2 * LIMIT, refused: 2 });
    });
  },
);
