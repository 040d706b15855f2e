import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  FixedWindow,
  ManualClock,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import { Preemption } from '../support/preemption.ts';

const LIMIT = 3;
const window = { limit: LIMIT, intervalMs: 1000, stats: true };
const bucket = { rate: 1, burst: LIMIT, stats: true };

interface Counting {
  tryConsume(n: number): boolean;
  consumeOrDrain(n: number): number;
  failedExchanges(): number;
}

const failedExchanges = (limiter: { stats(): { readonly failedExchanges?: number } }) =>
  limiter.stats().failedExchanges ?? Number.NaN;

function counting<
  L extends Omit<Counting, 'failedExchanges'> & Parameters<typeof failedExchanges>[0],
>(limiter: L): Counting {
  return {
    tryConsume: (n) => limiter.tryConsume(n),
    consumeOrDrain: (n) => limiter.consumeOrDrain(n),
    failedExchanges: () => failedExchanges(limiter),
  };
}

const ofKey = (table: KeyedTokenBucket): Counting => ({
  tryConsume: (n) => table.tryConsume('key', n),
  consumeOrDrain: (n) => table.consumeOrDrain('key', n),
  failedExchanges: () => failedExchanges(table),
});

/** A limiter as attached by two threads. */
const TWICE: Readonly<Record<string, () => [Counting, Counting]>> = {
  TokenBucket() {
    const made = TokenBucket.create({ ...bucket, clock: ManualClock.create() });
    return [counting(made), counting(TokenBucket.attach(structuredClone(made.handle)))];
  },
  FixedWindow() {
    const made = FixedWindow.create({ ...window, clock: ManualClock.create() });
    return [counting(made), counting(FixedWindow.attach(structuredClone(made.handle)))];
  },
  SlidingWindow() {
    const made = SlidingWindow.create({ ...window, clock: ManualClock.create() });
    return [counting(made), counting(SlidingWindow.attach(structuredClone(made.handle)))];
  },
  SlidingLog() {
    const made = SlidingLog.create({ ...window, clock: ManualClock.create() });
    return [counting(made), counting(SlidingLog.attach(structuredClone(made.handle)))];
  },
  KeyedTokenBucket() {
    const made = KeyedTokenBucket.create({ ...bucket, capacity: 1, clock: ManualClock.create() });
    made.tryConsume('key', 0.5);
    made.returnTokens('key', 0.5);
    return [ofKey(made), ofKey(KeyedTokenBucket.attach(structuredClone(made.handle)))];
  },
  'KeyedTokenBucket, of a key without a place'() {
    const made = KeyedTokenBucket.create({ ...bucket, capacity: 1, clock: ManualClock.create() });
    for (const other of ['one', 'another']) made.acquire(other, LIMIT);
    return [ofKey(made), ofKey(KeyedTokenBucket.attach(structuredClone(made.handle)))];
  },
  'KeyedTokenBucket, of a new key'() {
    const made = KeyedTokenBucket.create({ ...bucket, capacity: 1, clock: ManualClock.create() });
    return [ofKey(made), ofKey(KeyedTokenBucket.attach(structuredClone(made.handle)))];
  },
};

let preemption: Preemption;
beforeEach(() => {
  preemption = new Preemption();
});
afterEach(() => {
  preemption.restore();
});

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
