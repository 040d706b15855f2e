import { expect, it } from 'vitest';
import { allOf, TokenBucket } from '../../src/index.ts';
import { KINDS, takerOf } from '../support/kinds.ts';
import { FailingClock } from '../support/own-clock.ts';
import { settled } from '../support/settled.ts';

interface Waited {
  wait(): Promise<unknown>;
  /** Wakes the waiting callers. */
  change(): void;
}

type Create = (clock: FailingClock) => Waited;

const WAITED: readonly (readonly [name: string, create: Create])[] = [
  ...KINDS.flatMap(({ name, create, change }): [string, Create][] => {
    if (change === undefined) return [];
    const made = (clock: FailingClock) => {
      const one = create({ limit: 2, refillMs: 200, clock, kernel: 'wasm' });
      const taker = takerOf(one);
      taker.tryConsume(2);
      return { wait: () => taker.wait(), change: () => change(one, 1, 1) };
    };
    return [[name, made]];
  }),
  [
    'allOf',
    (clock) => {
      const bucket = TokenBucket.create({ rate: 10, burst: 1, initial: 0, clock });
      const both = allOf(bucket, TokenBucket.create({ rate: 10, burst: 1, clock }));
      return { wait: () => both.wait(), change: () => bucket.reconfigure({ rate: 20 }) };
    },
  ],
];

it.each(WAITED)('waits on a %s end, if the clock throws at any reading', async (_, create) => {
  let failures = 0;
  for (;;) {
    const clock = new FailingClock();
    const { wait, change } = create(clock);
    clock.failAfter(failures);
    const waits = Promise.allSettled([wait(), wait()]);
    await settled(20);
    try {
      change();
    } catch (error) {
      expect(error).toMatchObject({ message: 'no time' });
    }
    for (let i = 0; i < 12; i++) {
      await settled(20);
      clock.advance(50);
    }
    // An error that reaches nobody fails the run.
    const late = settled(300).then(() => 'late' as const);
    const ends = await Promise.race([waits, late]);
    if (ends === 'late') throw new Error(`no end after reading ${failures}`);
    for (const end of ends) {
      if (end.status === 'rejected') expect(end.reason).toMatchObject({ message: 'no time' });
    }
    if (!clock.hasFailed) break;
    failures++;
  }
  expect(failures).toBeGreaterThan(3);
});
