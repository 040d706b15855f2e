import { expect, it } from 'vitest';
import { ManualClock, Semaphore } from '../../src/index.ts';
import { throttled } from '../../src/throttle.ts';
import { bucketOf } from '../support/manual-bucket.ts';
import { settled } from '../support/settled.ts';
import { until } from '../support/throttled.ts';

/** A call that ends when the test says so. */
function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

it('runs as many calls at once as there are permits, and takes no token that is there before its permit', async () => {
  const { clock, limiter } = bucketOf(1000, 5);
  const semaphore = Semaphore.create({ permits: 2, clock });
  const gates = [gate(), gate(), gate()];
  const call = throttled((n: number) => gates[n]?.opened, { limiter, semaphore });
  const calls = [0, 1, 2].map((n) => call(n));
  await settled();
  expect([semaphore.inUse(), limiter.available()]).toEqual([2, 3]); // the third took no token
  expect(call.stats()).toMatchObject({ running: 2, waiting: 1 });
  gates[0]?.open();
  await calls[0];
  await until(() => call.stats().running === 2);
  expect([semaphore.inUse(), limiter.available()]).toEqual([2, 2]);
  for (const { open } of gates) open();
  await call.drain();
  expect(semaphore.inUse()).toBe(0);
});

it('returns the permit of a call that throws, or that returns a promise of another library', async () => {
  const semaphore = Semaphore.create({ permits: 1 });
  const fails = throttled(
    (message: string) => {
      throw new RangeError(message);
    },
    { semaphore },
  );
  const calls = ['one', 'two'].map((message) => fails(message));
  await expect(calls[0]).rejects.toThrow(new RangeError('one'));
  await expect(calls[1]).rejects.toThrow(new RangeError('two'));
  expect(fails.stats()).toMatchObject({ failed: 2, completed: 0 });
  // biome-ignore lint/suspicious/noThenProperty: a thenable on purpose
  const thenable = { then: (resolve: (value: number) => void) => resolve(5) };
  const then = throttled(() => thenable as PromiseLike<number>, { semaphore });
  expect(await then()).toBe(5);
  expect(semaphore.inUse()).toBe(0);
});

it('waits for permits that other holders of the semaphore return', async () => {
  const semaphore = Semaphore.create({ permits: 1 });
  const permit = await semaphore.acquire();
  const call = throttled((n: number) => n, { semaphore });
  const calls = [call(1), call(2)];
  await settled();
  expect(call.stats()).toMatchObject({ running: 0, waiting: 2 });
  permit.release();
  expect(await Promise.all(calls)).toEqual([1, 2]);
  expect([semaphore.inUse(), semaphore.waiting]).toEqual([0, 0]);
});

it('starts the holdMs of a permit when its call starts, however long the token takes', async () => {
  const { clock, limiter } = bucketOf(1, 1);
  const semaphore = Semaphore.create({ permits: 1, holdMs: 50, clock });
  const call = throttled((n: number) => n, { limiter, semaphore });
  expect(await call(1)).toBe(1);
  const second = call(2);
  await settled();
  clock.advance(1000);
  expect(await second).toBe(2);
  expect(semaphore.inUse()).toBe(0);
});

it('rejects a call that held its permit for longer than holdMs', async () => {
  const clock = ManualClock.create();
  const semaphore = Semaphore.create({ permits: 1, holdMs: 50, clock });
  const call = throttled(() => clock.advance(60), { semaphore });
  await expect(call()).rejects.toMatchObject({ code: 'ERR_PERMIT_EXPIRED' });
});
