import { describe, expect, it } from 'vitest';
import { ManualClock, systemClock } from '../../src/index.ts';
import { settled } from '../support/settled.ts';
import { WINDOW_KINDS } from '../support/window-kinds.ts';

describe.each(WINDOW_KINDS)('waiting for a $kind', ({ create, attach }) => {
  /** Full at 0 ms, empty again at 100 ms. */
  function full(clock: ManualClock) {
    const limiter = create({ limit: 2, intervalMs: 100, slots: 4, clock });
    expect(limiter.tryConsume(2)).toBe(true);
    return limiter;
  }

  // docs/simulate.md: "Windows and logs cannot reserve ahead"
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

  it('blocks a thread until the tokens are available, on the system clock', () => {
    const beforeUs = systemClock.now();
    const limiter = create({ limit: 2, intervalMs: 20, slots: 4 });
    expect(limiter.tryConsume(2)).toBe(true);
    expect(limiter.waitSync(2, { strict: true })).toBe(true);
    expect(systemClock.now() - beforeUs).toBeGreaterThanOrEqual(20_000 - 1);
  });
});
