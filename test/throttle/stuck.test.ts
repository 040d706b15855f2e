import { expect, it } from 'vitest';
import { ManualClock, Semaphore, TokenBucket } from '../../src/index.ts';
import { throttled } from '../../src/throttle.ts';
import { until } from '../support/throttled.ts';

/** Lets everything run that is due. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise(setImmediate);
}

it('asks for permits again if those it held expired and others have them', async () => {
  const clock = ManualClock.create();
  const limiter = TokenBucket.create({ rate: 1000, burst: 1, clock });
  const semaphore = Semaphore.create({ permits: 4, holdMs: 50, clock });
  const call = throttled((n: number) => n, { limiter, semaphore });
  await call(0);
  const calls = [1, 2, 3, 4].map((n) => call(n));
  await settled();
  expect(semaphore.inUse()).toBe(4);
  const others = [1, 2, 3, 4].map(() => semaphore.acquire());
  clock.advance(60);
  for (const permit of await Promise.all(others)) {
    await settled();
    permit.release();
  }
  await settled();
  expect(call.queueSize).toBe(0);
  expect(await Promise.all(calls)).toEqual([1, 2, 3, 4]);
  expect(semaphore.inUse()).toBe(0);
});
