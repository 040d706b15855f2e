import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { allOf, ManualClock, TokenBucket } from '../../src/index.ts';
import { settled } from '../support/settled.ts';

describe('a long line', () => {
  const COUNT = 10_000;

  it('serves 10,000 callers in order, with one sleep of the clock and one listener', async () => {
    const clock = ManualClock.create();
    const sleeps = vi.spyOn(clock, 'sleep');
    const limiter = allOf(
      TokenBucket.create({ rate: 1e6, burst: COUNT, initial: 0, clock }),
      TokenBucket.create({ rate: 1e6, burst: COUNT, initial: 0, clock }),
    );
    const { signal } = new AbortController();
    const served: number[] = [];
    for (let i = 0; i < COUNT; i++) limiter.wait(1, { signal }).then(() => served.push(i));
    expect(getEventListeners(signal, 'abort').length).toBe(1);
    expect(sleeps.mock.calls.length).toBe(1);
    clock.advance(10);
    await settled();
    // Other work of the event loop has its turn meanwhile.
    expect(served.length).toBeGreaterThan(0);
    expect(served.length).toBeLessThan(COUNT);
    while (served.length < COUNT) await settled();
    expect(served).toEqual(Array.from({ length: COUNT }, (_, i) => i));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(sleeps.mock.calls.length).toBeLessThan(5);
  });

  it('dissolves at once when 10,000 callers abort, the head first', async () => {
    const clock = ManualClock.create();
    const sleeps = vi.spyOn(clock, 'sleep');
    const bucket = TokenBucket.create({ rate: 1, burst: 1, initial: 0, clock });
    const limiter = allOf(bucket);
    const controller = new AbortController();
    const waits = Array.from({ length: COUNT }, () =>
      limiter.wait(1, { signal: controller.signal, timeoutMs: 1e6 }).catch((reason) => reason),
    );
    controller.abort('enough');
    expect(limiter.waiting).toBe(0);
    expect(new Set(await Promise.all(waits))).toEqual(new Set(['enough']));
    expect(sleeps.mock.calls.length).toBeLessThan(5);
    clock.advance(1000);
    expect(bucket.available()).toBe(1);
  });

  it('has one sleep for the limiters of a thread, which take turns', async () => {
    const clock = ManualClock.create();
    const sleeps = vi.spyOn(clock, 'sleep');
    let served = 0;
    for (let i = 0; i < 1000; i++) {
      const limiter = allOf(TokenBucket.create({ rate: 1, burst: 1, initial: 0, clock }));
      limiter.wait().then(() => served++);
    }
    expect(sleeps.mock.calls.length).toBe(1);
    clock.advance(1000);
    while (served < 1000) {
      const before = served;
      await new Promise(setImmediate);
      expect(served - before).toBeLessThanOrEqual(256);
    }
  });
});
