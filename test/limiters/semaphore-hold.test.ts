import { describe, expect, test } from 'vitest';
import { ManualClock, type Permit, Semaphore, type SemaphoreOptions } from '../../src/index.ts';
import { settled } from '../support/settled.ts';

const TARGETS = ['wasm', 'atomics'] as const;

describe.each(TARGETS)('a semaphore with holdMs, with kernel %s,', (kernel) => {
  const create = (options: SemaphoreOptions) => Semaphore.create({ kernel, ...options });
  test('takes a permit back that is held too long, and refuses its release', async () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 2, holdMs: 100, clock });
    const permits = [semaphore.tryAcquire(), semaphore.tryAcquire()];
    clock.advance(99);
    permits[0]?.release();
    expect(semaphore.tryAcquire()).toBeDefined();
    expect(semaphore.tryAcquire()).toBeUndefined();
    clock.advance(1);
    expect([semaphore.available(), semaphore.inUse()]).toEqual([1, 1]);
    const expired = expect.objectContaining({ code: 'ERR_PERMIT_EXPIRED' });
    expect(() => permits[1]?.release()).toThrow(expired);
    expect([semaphore.available(), semaphore.inUse()]).toEqual([1, 1]);
  });

  test('refuses a late release before any other call has noticed, and returns the permit once', () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, holdMs: 100, clock });
    const permit = semaphore.tryAcquire();
    clock.advance(100);
    expect(() => permit?.release()).toThrow('longer than holdMs');
    expect(semaphore.available()).toBe(1);
  });

  test('wakes waiting callers, and blocks no longer than that', async () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, holdMs: 100, clock });
    semaphore.tryAcquire();
    const wait = semaphore.acquire();
    await settled(20);
    clock.advance(100);
    const permit: Permit = await wait;
    clock.advance(100);
    expect(semaphore.acquireSync()?.n).toBe(1);
    expect(() => permit.release()).toThrow('longer than holdMs');
  });

  test('has run reject if its function takes longer', async () => {
    const clock = ManualClock.create();
    const semaphore = create({ permits: 1, holdMs: 100, clock });
    const slow = semaphore.run(() => clock.advance(100));
    await expect(slow).rejects.toThrow('longer than holdMs');
  });
});
