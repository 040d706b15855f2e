import { describe, expect, it } from 'vitest';
import { ManualClock, RateLimitError, systemClock } from '../../src/index.ts';
import { WINDOW_KINDS } from '../support/window-kinds.ts';

/** Runs everything that can run without a move of the clock. */
async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe.each(WINDOW_KINDS)('waiting for a $kind', ({ create, attach }) => {
  /** Full at 0 ms, empty again at 100 ms. */
  function full(clock: ManualClock) {
    const limiter = create({ limit: 2, intervalMs: 100, slots: 4, clock });
    expect(limiter.tryConsume(2)).toBe(true);
    return limiter;
  }

  it('sleeps exactly until a retry succeeds', async () => {
    const clock = ManualClock.create();
    const limiter = full(clock);
    let done = false;
    const wait = limiter.wait(2).then(() => {
      done = true;
    });
    clock.set(99.999);
    await settled();
    expect(done).toBe(false);
    clock.set(100);
    await wait;
    expect(limiter.available()).toBe(0);
  });

  it('sleeps once, without polling', async () => {
    const clock = ManualClock.create();
    const limiter = full(clock);
    const sleep = clock.sleep.bind(clock);
    const sleeps: number[] = [];
    clock.sleep = (untilUs, options) => {
      sleeps.push(untilUs);
      return sleep(untilUs, options);
    };
    const wait = limiter.wait();
    clock.set(50);
    await settled();
    clock.set(100);
    await wait;
    expect(sleeps).toEqual([100_000]);
  });

  it('retries and sleeps again if another caller was faster', async () => {
    const clock = ManualClock.create();
    const limiter = full(clock);
    const other = attach(limiter.handle);
    let done = false;
    const wait = limiter.wait().then(() => {
      done = true;
    });
    clock.set(100);
    expect(other.tryConsume(2)).toBe(true);
    await settled();
    expect(done).toBe(false);
    clock.set(200);
    await wait;
  });

  it('fails at once, and takes nothing, when the timeout is too short', async () => {
    const clock = ManualClock.create();
    const limiter = full(clock);
    const late = { code: 'ERR_RATE_LIMIT_TIMEOUT', name: 'RateLimitError' };
    await expect(limiter.wait(1, { timeoutMs: 99.99 })).rejects.toMatchObject(late);
    await expect(limiter.wait(1, { timeoutMs: 0 })).rejects.toMatchObject(late);
    expect(limiter.waitSync(1, { timeoutMs: 99.99 })).toBe(false);
    const wait = limiter.wait(1, { timeoutMs: 100 });
    clock.set(100);
    await wait;
  });

  it('fails as soon as the timeout is known to be exceeded, and not before', async () => {
    const clock = ManualClock.create();
    const limiter = full(clock);
    const wait = limiter.wait(1, { timeoutMs: 150 });
    const outcome = wait.catch((error: unknown) => error);
    clock.set(100);
    expect(attach(limiter.handle).tryConsume(2)).toBe(true);
    expect(await outcome).toMatchObject({ code: 'ERR_RATE_LIMIT_TIMEOUT' });
    expect(clock.nowMs).toBe(100);
  });

  it('fails at once for more than the limit', async () => {
    const limiter = full(ManualClock.create());
    await expect(limiter.wait(3)).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
    expect(() => limiter.waitSync(3)).toThrow(RateLimitError);
  });

  it('rejects with the reason of an abort, and takes nothing', async () => {
    const clock = ManualClock.create();
    const limiter = full(clock);
    const controller = new AbortController();
    const wait = limiter.wait(1, { signal: controller.signal });
    const outcome = wait.catch((error: unknown) => error);
    controller.abort('enough');
    expect(await outcome).toBe('enough');
    clock.set(100);
    expect(limiter.available()).toBe(2);
    await expect(limiter.wait(1, { signal: controller.signal })).rejects.toBe('enough');
    expect(limiter.available()).toBe(2);
  });

  it('blocks a thread until the tokens are available, on the system clock', () => {
    const beforeUs = systemClock.now();
    const limiter = create({ limit: 2, intervalMs: 20, slots: 4 });
    expect(limiter.tryConsume(2)).toBe(true);
    expect(limiter.waitSync(2, { strict: true })).toBe(true);
    expect(systemClock.now() - beforeUs).toBeGreaterThanOrEqual(20_000 - 1);
  });
});
