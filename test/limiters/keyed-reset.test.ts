import { describe, expect, it, vi } from 'vitest';
import {
  type KernelName,
  KeyedFixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  ManualClock,
} from '../../src/index.ts';
import { settled } from '../support/settled.ts';

const LIMIT = { rate: 1, burst: 2 };
const LIMITS = [LIMIT, { rate: 2, burst: 3 }];

const TABLES = {
  KeyedTokenBucket: (clock: ManualClock, kernel: KernelName) =>
    KeyedTokenBucket.create({ ...LIMIT, capacity: 10, clock, kernel, stats: true }),
  KeyedLimitSet: (clock: ManualClock, kernel: KernelName) =>
    KeyedLimitSet.create({ limits: LIMITS, capacity: 10, clock, kernel, stats: true }),
  KeyedFixedWindow: (clock: ManualClock, kernel: KernelName) =>
    KeyedFixedWindow.create({ limit: 2, intervalMs: 2000, capacity: 10, clock, kernel }),
};

/** A table whose key has no tokens, and the callers served so far of those that wait for one. */
async function waiting(create: (typeof TABLES)[keyof typeof TABLES], kernel: KernelName) {
  const clock = ManualClock.create();
  const table = create(clock, kernel);
  table.consumeOrDrain('ann', 2);
  const served: number[] = [];
  const waits = [0, 1, 2].map((i) => table.wait('ann').then(() => served.push(i)));
  await settled(10);
  return { clock, table, served, end: () => Promise.all(waits) };
}

describe.each(Object.entries(TABLES))('the waiting callers of a %s', (_, create) => {
  it.each(['wasm', 'atomics'] as const)(
    'try again when their key is reset, in %s',
    async (kernel) => {
      const { clock, table, served, end } = await waiting(create, kernel);
      table.reset('bob');
      await settled(20);
      expect(served).toEqual([]);
      table.reset('ann');
      await settled(20);
      expect(served).toEqual([0, 1]);
      expect(table.tryConsume('ann')).toBe(false);
      // The tokens do not suffice for the last, whose instant stays.
      clock.advance(3000);
      await end();
      expect(table.waiting).toBe(0);
    },
  );

  it('try again when it is reset while they block the thread', () => {
    const clock = ManualClock.create();
    const table = create(clock, 'wasm');
    table.consumeOrDrain('ann', 2);
    const sleep = vi.spyOn(clock, 'sleepSync').mockImplementation(() => {
      throw new Error('slept again');
    });
    sleep.mockImplementationOnce(() => table.reset('ann'));
    expect(table.waitSync('ann')).toBe(true);
    expect(sleep).toHaveBeenCalledTimes(1);
    expect([clock.nowMs, table.available('ann')]).toEqual([0, 1]);
  });
});
