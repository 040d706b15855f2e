import { describe, expect, it, vi } from 'vitest';
import { allOf, ManualClock, TokenBucket } from '../../src/index.ts';
import { Line } from '../../src/limiters/line.ts';
import { checkWait, Pauses, waitHere } from '../../src/limiters/waiting.ts';
import { Diary } from '../support/diary.ts';
import { settled } from '../support/settled.ts';

const LIMITER = { timeUntil: () => 0 };

describe('the head of a line', () => {
  it('is not overtaken by one who wants less, who is served as soon as it leaves', async () => {
    const diary = new Diary((clock) =>
      allOf(TokenBucket.create({ rate: 1, burst: 5, initial: 2, clock })),
    );
    const controller = new AbortController();
    diary.wait('a', { signal: controller.signal }, 5);
    diary.wait('b', {}, 1);
    diary.wait('c', {}, 1);
    await settled();
    expect(diary.events).toEqual([]);
    controller.abort('enough');
    await settled();
    expect(diary.events).toEqual(['0: a enough', '0: b waited 0', '0: c waited 0']);
  });

  it('decides whether the clock sleeps strictly', async () => {
    const clock = ManualClock.create();
    const sleep = vi.spyOn(clock, 'sleep');
    const limiter = allOf(TokenBucket.create({ rate: 100, burst: 1, initial: 0, clock }));
    const waits = [true, false, true].map((strict) => limiter.wait(1, { strict }));
    for (const wait of waits) {
      clock.advance(10);
      await wait;
    }
    const sleeps = sleep.mock.calls.map(([untilUs, options]) => [untilUs, options?.strict]);
    expect(sleeps).toEqual([
      [10_000, true],
      [20_000, false],
      [30_000, true],
    ]);
  });
});

describe('a line whose attempts fail', () => {
  const never = { code: 'ERR_RATE_LIMIT_TIMEOUT' };

  /** Refuses, although tokens seem to be available. */
  function contended(clock: ManualClock, attempts: number[]) {
    const refusal = () => ({ retryAtUs: clock.now() });
    const attempt = () => {
      attempts.push(clock.now());
      return refusal();
    };
    return { limiter: LIMITER, limit: 1, attempt, look: refusal };
  }

  it('pauses longer and longer, at most 10 ms, and never retries at once', async () => {
    const clock = ManualClock.create();
    const attempts: number[] = [];
    const line = new Line(clock, contended(clock, attempts));
    const wait = line.wait(1, checkWait({ timeoutMs: 60 }));
    const failed = expect(wait).rejects.toMatchObject(never);
    for (let us = 0; us <= 60_000; us += 50) {
      clock.set(us / 1000);
      await settled(2);
    }
    await failed;
    const pauses = attempts.map((us, i) => us - (attempts[i - 1] ?? 0)).slice(1);
    expect(pauses).toEqual([50, 100, 200, 400, 800, 1600, 3200, 6400, 1e4, 1e4, 1e4, 1e4, 7250]);
  });

  it('starts with the shortest pause after a refusal that says when to retry', () => {
    const pauses = new Pauses();
    expect([100, 100, 300, 100].map((retryAtUs) => pauses.retryAtUs({ retryAtUs }, 200))).toEqual([
      250, 300, 300, 250,
    ]);
  });

  it('goes on with the next as soon as the time of its head is over', async () => {
    const clock = ManualClock.create();
    const refusal = () => ({ retryAtUs: clock.now() });
    const attempt = (n: number) => (n === 2 ? refusal() : undefined);
    const line = new Line(clock, { limiter: LIMITER, limit: 2, attempt, look: refusal });
    const failed = expect(line.wait(2, checkWait({ timeoutMs: 1 }))).rejects.toMatchObject(never);
    const next = line.wait(1, checkWait({}));
    for (let us = 50; us <= 1000; us += 50) {
      clock.set(us / 1000);
      await settled(2);
    }
    await failed;
    expect(await next).toEqual({ waitedMs: 1 });
  });

  it('pauses in a blocking wait as well', () => {
    const clock = ManualClock.create();
    const attempts: number[] = [];
    vi.spyOn(clock, 'sleepSync').mockImplementation((untilUs) => clock.set(untilUs / 1000));
    expect(
      waitHere(clock, contended(clock, attempts), 1, {
        timeoutMs: 1,
        strict: false,
        precise: true,
      }),
    ).toBe(false);
    expect(attempts).toEqual([0, 50, 150, 350, 750]);
  });

  it('rejects the head with what an attempt throws, and serves the next', async () => {
    const clock = ManualClock.create();
    const damaged = new Error('damaged');
    let isDamaged = false;
    const attempt = () => {
      if (isDamaged) {
        isDamaged = false;
        throw damaged;
      }
      return clock.now() < 1000 ? { retryAtUs: 1000 } : undefined;
    };
    const line = new Line(clock, {
      limiter: LIMITER,
      limit: 1,
      attempt,
      look: () => ({ retryAtUs: 1000 }),
    });
    const first = line.wait(1, checkWait({}));
    const second = line.wait(1, checkWait({}));
    isDamaged = true;
    clock.set(1);
    await expect(first).rejects.toBe(damaged);
    expect(await second).toEqual({ waitedMs: 1 });
  });

  it('rejects everyone if the clock cannot sleep', async () => {
    const clock = ManualClock.create();
    const broken = new Error('broken');
    vi.spyOn(clock, 'sleep').mockImplementation(() => Promise.reject(broken));
    const limiter = allOf(TokenBucket.create({ rate: 1, burst: 1, initial: 0, clock }));
    const waits = [limiter.wait(), limiter.wait()];
    for (const wait of waits) await expect(wait).rejects.toBe(broken);
    expect(limiter.waiting).toBe(0);
  });
});
