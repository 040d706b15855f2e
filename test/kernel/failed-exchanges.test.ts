import { describe, expect, it } from 'vitest';
import { attach, type LimiterHandle, ManualClock } from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import { isTable, KINDS, type Subject, takerOf } from '../support/kinds.ts';
import { eachPreempted } from '../support/preemption.ts';

const LIMIT = 3;

interface Counting {
  tryConsume(n: number): boolean;
  consumeOrDrain(n: number): number;
  failedExchanges(): number;
}

function counting(made: Subject): Counting {
  const taker = takerOf(made);
  return {
    tryConsume: (n) => taker.tryConsume(n),
    consumeOrDrain: (n) => taker.consumeOrDrain?.(n) ?? Number.NaN,
    failedExchanges: () => made.stats?.().failedExchanges ?? Number.NaN,
  };
}

/** As attached by two threads. */
function twice(made: Subject): [Counting, Counting] {
  const handle = structuredClone(made.handle) as LimiterHandle<'token-bucket'>;
  return [counting(made), counting(attach(handle))];
}

function table(): KeyedTokenBucket {
  const one = { rate: 1, burst: LIMIT, capacity: 1, stats: true };
  return KeyedTokenBucket.create({ ...one, clock: ManualClock.create() });
}

const TWICE: Readonly<Record<string, () => [Counting, Counting]>> = {
  ...Object.fromEntries(
    // A key of a window would not have an entry and its whole limit.
    KINDS.filter(({ name }) => !['allOf', 'KeyedFixedWindow'].includes(name)).map(
      ({ name, create }) => {
        const pair = () => {
          const clock = ManualClock.create();
          const made = create({ limit: LIMIT, refillMs: 3000, clock, stats: true });
          const key = takerOf(made);
          if (isTable(made)) key.returnTokens?.(key.consumeOrDrain?.(LIMIT) ?? 0);
          return twice(made);
        };
        return [name, pair];
      },
    ),
  ),
  'KeyedTokenBucket, of a key without a place'() {
    const made = table();
    for (const other of ['one', 'another']) made.acquire(other, LIMIT);
    return twice(made);
  },
  'KeyedTokenBucket, of a new key': () => twice(table()),
};

const preemption = eachPreempted();

/** Races lost by a call when another takes 1 before its first step, its second, and so on. */
function racesLost(make: () => [Counting, Counting], call: (own: Counting) => void): number[] {
  const lost: number[] = [];
  for (let stalls = -1; stalls < preemption.stalls; ) {
    stalls = preemption.stalls;
    const [own, other] = make();
    preemption.call(
      () => call(own),
      lost.length + 1,
      () => other.tryConsume(1),
    );
    if (stalls < preemption.stalls) lost.push(own.failedExchanges());
  }
  return lost;
}

describe.each(Object.entries(TWICE))('%s', (name, make) => {
  // To find no entry is no step, so another thread may have taken it before the first.
  const isNew = name.endsWith('new key');
  it.each<[string, (own: Counting) => void]>([
    ['takes', (own) => own.tryConsume(1)],
    ['drains', (own) => own.consumeOrDrain(LIMIT + 1)],
    [
      'takes before another that drains nothing',
      (own) => own.tryConsume(1) && own.consumeOrDrain(0),
    ],
  ])('counts each race that a call loses which %s', (_, call) => {
    const lost = racesLost(make, call);
    expect(lost.length).toBeGreaterThan(1);
    if (!isNew) expect(lost[0], 'before the first step').toBe(0);
    expect([...new Set(lost)].sort()).toEqual([0, 1]);
  });

  it('counts none if a call is refused', () => {
    const almostEmpty = (): [Counting, Counting] => {
      const [own, other] = make();
      other.tryConsume(LIMIT - 1);
      return [own, other];
    };
    const lost = racesLost(almostEmpty, (own) => own.tryConsume(2));
    expect(new Set(lost)).toEqual(new Set([0]));
  });
});
