import { expect, it } from 'vitest';
import { allOf, FixedWindow, LimitSet, TokenBucket } from '../../src/index.ts';
import { KeyedLimitSet, KeyedTokenBucket } from '../../src/keyed.ts';
import { FailingClock } from '../support/own-clock.ts';
import { settled } from '../support/settled.ts';

interface Waited {
  wait(): Promise<unknown>;
  /** Wakes the waiting callers. */
  change(): void;
}

const LIMIT = { rate: 10, burst: 1 };
const TWO = [LIMIT, { rate: 20, burst: 2 }] as const;

function bucketOf(clock: FailingClock): Waited & { readonly bucket: TokenBucket } {
  const bucket = TokenBucket.create({ ...LIMIT, initial: 0, clock });
  return {
    bucket,
    wait: () => bucket.wait(),
    change: () => bucket.reconfigure({ rate: 20 }),
  };
}

const WAITED: readonly (readonly [name: string, create: (clock: FailingClock) => Waited])[] = [
  ['a TokenBucket', bucketOf],
  [
    'a LimitSet',
    (clock) => {
      const set = LimitSet.create({ limits: TWO, clock });
      set.tryConsume();
      return {
        wait: () => set.wait(),
        change: () => set.reconfigure({ limits: [{ rate: 20 }, {}] }),
      };
    },
  ],
  [
    'a KeyedTokenBucket',
    (clock) => {
      const table = KeyedTokenBucket.create({ ...LIMIT, capacity: 10, clock });
      table.tryConsume('key');
      return { wait: () => table.wait('key'), change: () => table.reconfigure({ rate: 20 }) };
    },
  ],
  [
    'a KeyedLimitSet',
    (clock) => {
      const table = KeyedLimitSet.create({ limits: TWO, capacity: 10, clock });
      table.tryConsume('key');
      const change = () => table.reconfigure({ limits: [{ rate: 20 }, {}] });
      return { wait: () => table.wait('key'), change };
    },
  ],
  [
    'allOf',
    (clock) => {
      const { bucket, change } = bucketOf(clock);
      const both = allOf(bucket, TokenBucket.create({ ...LIMIT, clock }));
      return { wait: () => both.wait(), change };
    },
  ],
  [
    'a FixedWindow',
    (clock) => {
      const window = FixedWindow.create({ limit: 1, intervalMs: 100, clock });
      window.tryConsume();
      return { wait: () => window.wait(), change: () => window.reconfigure({ limit: 2 }) };
    },
  ],
];

it.each(WAITED)('waits on %s end, if the clock throws at any reading', async (_, create) => {
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
