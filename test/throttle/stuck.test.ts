import { expect, it } from 'vitest';
import { FixedWindow, ManualClock, Semaphore, TokenBucket } from '../../src/index.ts';
import { throttled } from '../../src/throttle.ts';
import { settled } from '../support/settled.ts';

it('asks for permits when its tokens are due and others hold all', async () => {
  const clock = ManualClock.create();
  const limiter = TokenBucket.create({ rate: 1000, burst: 1, clock });
  const semaphore = Semaphore.create({ permits: 4, holdMs: 50, clock });
  const call = throttled((n: number) => n, { limiter, semaphore });
  await call(0);
  const calls = [1, 2, 3, 4].map((n) => call(n));
  await settled(4);
  expect(semaphore.inUse()).toBe(0);
  const others = [1, 2, 3, 4].map(() => semaphore.acquire());
  for (const permit of await Promise.all(others)) {
    clock.advance(10);
    await settled(4);
    permit.release();
  }
  await settled(4);
  expect(call.queueSize).toBe(0);
  expect(await Promise.all(calls)).toEqual([1, 2, 3, 4]);
  expect(semaphore.inUse()).toBe(0);
});

it('looks when the next token is due after it returned tokens promised ahead', async () => {
  const clock = ManualClock.create();
  const limiter = TokenBucket.create({ rate: 10_000, burst: 1, clock });
  const semaphore = Semaphore.create({ permits: 2, clock });
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const call = throttled((n: number) => (n < 2 ? gate : n), { limiter, semaphore });
  const calls = [0, 1, 2, 3, 4].map((n) => call(n));
  await settled(4);
  for (const ms of [0.1, 0.4, 20]) {
    clock.advance(ms);
    await settled(4);
  }
  limiter.charge(100);
  open();
  await settled(4);
  expect(call.stats()).toMatchObject({ completed: 2, waiting: 3 });
  for (let ms = 0; ms < 40; ms++) {
    clock.advance(1);
    await settled(4);
  }
  expect(call.queueSize).toBe(0);
  await Promise.all(calls);
});

it('refuses no call because the token of another call would come too late', async () => {
  const clock = ManualClock.create();
  const limiter = FixedWindow.create({ limit: 1, intervalMs: 10, clock });
  const stop = new AbortController();
  const call = throttled((n: number) => n, {
    limiter,
    timeoutMs: 12,
    signal: (n) => (n === 1 ? stop.signal : undefined),
  });
  expect(limiter.tryConsume()).toBe(true);
  const first = call(1);
  await settled(4);
  clock.advance(9);
  const second = call(2);
  const end = second.catch((error: unknown) => error);
  stop.abort('enough');
  await expect(first).rejects.toBe('enough');
  clock.advance(1);
  expect(limiter.tryConsume()).toBe(true); // by another thread
  await settled(4);
  expect(call.queueSize).toBe(1);
  clock.advance(10);
  expect(await end).toBe(2);
});

it('lets no call wait if onDelay closes', async () => {
  const clock = ManualClock.create();
  const limiter = TokenBucket.create({ rate: 1, burst: 1, clock });
  const call: (() => Promise<number>) & { close(): Promise<void>; queueSize: number } = throttled(
    () => 1,
    { limiter, onDelay: () => void call.close() },
  );
  await call();
  await expect(call()).rejects.toMatchObject({ code: 'ERR_THROTTLE_CLOSED' });
  expect(call.queueSize).toBe(0);
});

it('keeps the queue within maxQueue if onDelay calls again', async () => {
  const clock = ManualClock.create();
  const limiter = TokenBucket.create({ rate: 1000, burst: 1, clock });
  const inner: Promise<number>[] = [];
  const call: ((n: number) => Promise<number>) & { queueSize: number } = throttled(
    (n: number) => n,
    {
      limiter,
      maxQueue: 1,
      onDelay: (n) => {
        if (n === 1) inner.push(call(2));
      },
    },
  );
  await call(0);
  await expect(call(1)).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
  expect(call.queueSize).toBe(1);
  clock.advance(1);
  expect(await Promise.all(inner)).toEqual([2]);
});

it('does not spin while the clock reads less than the instant of a sleep that has ended', async () => {
  const manual = ManualClock.create();
  let lagUs = 0;
  let looks = 0;
  const clock = {
    name: 'manual',
    handle: manual.handle,
    sleepSync: manual.sleepSync.bind(manual),
    sleep: manual.sleep.bind(manual),
    now: () => {
      looks++;
      return manual.now() - lagUs;
    },
  };
  const limiter = TokenBucket.create({ rate: 100, burst: 1, clock });
  const call = throttled((n: number) => n, { limiter });
  await call(0);
  const calls = [call(1), call(2)];
  await settled(4);
  lagUs = 3000;
  manual.advance(10);
  looks = 0;
  await settled(4);
  await settled(4);
  expect(looks).toBeLessThan(100);
  expect(call.queueSize).toBe(1); // the token was due when the sleep ended
  manual.advance(20);
  await Promise.all(calls);
});
