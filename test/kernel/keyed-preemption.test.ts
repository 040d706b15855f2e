import { expect, it } from 'vitest';
import { attach as attachLimiter, ManualClock } from '../../src/index.ts';
import { KeyedLimitSet, KeyedTokenBucket, type WhenFull } from '../../src/keyed.ts';
import { attach, create } from '../explorer/token-subject.ts';
import { eachPreempted, KILLED } from '../support/preemption.ts';

const RATE = 1e5; // a token every 10 microseconds
const BURST = 3;

const preemption = eachPreempted();

function table(clock: ManualClock, capacity = 1): KeyedTokenBucket {
  return KeyedTokenBucket.create({ rate: RATE, burst: BURST, capacity, whenFull: 'refuse', clock });
}

/** A stalled thread does nothing else, so another thread runs meanwhile. */
function joined(made: KeyedTokenBucket): KeyedTokenBucket {
  return KeyedTokenBucket.attach(structuredClone(made.handle));
}

it('threads that see a new key at once give it one bucket, wherever two are stalled', () => {
  for (let at = 1; at <= 24; at++) {
    for (let inner = 1; inner <= 24; inner++) {
      const clock = ManualClock.create();
      const made = table(clock, 8);
      const [first, second, third] = [joined(made), joined(made), joined(made)];
      const got: number[] = [];
      const take = (thread: KeyedTokenBucket, n: number) => {
        got.push(thread.consumeOrDrain('new', n));
      };
      const stalledSecond = () => {
        preemption.call(
          () => take(second, BURST),
          inner,
          () => take(third, BURST - 1),
        );
      };
      preemption.call(() => take(first, 1), at, stalledSecond);
      take(made, BURST);
      const sum = got.reduce((total, tokens) => total + tokens, 0);
      expect([sum, at, inner]).toEqual([BURST, at, inner]);
    }
  }
});

it("an entry that became another key's keeps its tokens when a stalled thread returns some for the previous key", () => {
  let reclaims = 0;
  for (let at = 1; at <= 6; at++) {
    const clock = ManualClock.create();
    const made = table(clock);
    made.acquire('in the way', 3);
    made.acquire('in the way', 3);
    made.tryConsume('before');
    const reservation = made.reserve('before', 1);
    let reclaimed = false;
    const meanwhile = () => {
      made.returnTokens('before', 1);
      clock.advance(0.01);
      // Now its state equals the one that the reservation left.
      reclaimed = made.tryConsume('after');
    };
    preemption.call(() => reservation?.cancel(), at, meanwhile);
    if (!reclaimed) continue;
    reclaims++;
    expect(made.balance('after')).toBe(BURST - 1);
  }
  expect(reclaims).toBeGreaterThan(1);
});

it('a new key has its whole burst even if its thread was stalled while other keys came and went', () => {
  let reclaims = 0;
  for (let at = 1; at <= 30; at++) {
    const clock = ManualClock.create();
    const made = table(clock, 2);
    const [first, second] = [joined(made), joined(made)];
    for (const key of ['a', 'b', 'c', 'd']) made.tryConsume(key);
    clock.advance(1);
    const meanwhile = () => {
      clock.advance(1);
      second.tryConsume('other');
      reclaims += second.stats().reclaimed;
    };
    const own = preemption.call(() => first.consumeOrDrain('new', BURST), at, meanwhile);
    expect([own, at]).toEqual([BURST, at]);
  }
  expect(reclaims).toBeGreaterThan(5);
});

const LIMIT = { rate: RATE, burst: BURST };
interface Crowded {
  readonly capacity: number;
  readonly whenFull: WhenFull;
  readonly clock: ManualClock;
}
const TABLES = {
  KeyedTokenBucket: (crowded: Crowded) => KeyedTokenBucket.create({ ...crowded, ...LIMIT }),
  KeyedLimitSet: (crowded: Crowded) =>
    KeyedLimitSet.create({ ...crowded, limits: [LIMIT, { rate: 2 * RATE, burst: 2 * BURST }] }),
};
const CALLS: ((of: KeyedTokenBucket | KeyedLimitSet) => unknown)[] = [
  (of) => of.tryConsume('own', BURST),
  (of) => of.consumeOrDrain('own', BURST),
  (of) => of.reserve('own', BURST),
  (of) => of.charge('own', BURST + 1),
  (of) => of.decide('own', BURST),
  (of) => of.balance('own'),
  (of) => of.timeUntil('own', BURST),
  (of) => of.block('own', 1),
  (of) => of.returnTokens('own', 1),
  (of) => of.reset('own'),
];

it.each(Object.entries(TABLES))(
  'any call of a %s ends that loses its entry while a terminated thread keeps the other one',
  (_, create) => {
    let lost = 0;
    for (const call of CALLS) {
      for (const whenFull of ['share', 'refuse', 'admit'] as const) {
        for (let at = 1; at <= 40; at++) {
          for (const death of [5, 8, 11]) {
            const clock = ManualClock.create();
            const made = create({ capacity: 1, whenFull, clock });
            const join = () => attachLimiter(structuredClone(made.handle));
            const [own, other, dying] = [join(), join(), join()];
            made.tryConsume('first');
            const die = () => dying.tryConsume('dead');
            preemption.call(die, death, () => undefined, true);
            clock.advance(1);
            let before = 0;
            const meanwhile = () => {
              other.tryConsume('new', BURST);
              before = made.stats().shared;
            };
            preemption.call(() => call(own), at, meanwhile);
            lost += made.stats().shared - before;
          }
        }
      }
    }
    expect(lost, 'calls without a place').toBeGreaterThan(20);
  },
);

it('a call ignores a step back of the clock while its thread is stalled', () => {
  const clock = ManualClock.create();
  const made = table(clock);
  const [first, second] = [joined(made), joined(made)];
  for (const key of ['a', 'b']) made.tryConsume(key);
  clock.advance(1);
  const meanwhile = () => {
    clock.advance(0.001);
    second.tryConsume('other');
    clock.set(clock.nowMs - 0.012);
  };
  // Right after reading the clock.
  const reservation = preemption.call(() => first.reserve('new', 2), 2, meanwhile);
  expect(reservation).toMatchObject({ waitMs: 0 });
});

/**
 * More steps than any call has; for the finishing call, than it has before it looks for a place.
 */
const STEPS = 24;
const STEPS_OF_FIND = 6;
const SECOND = 1_000_000;

it('an entry left named by a terminated thread is not finished if the key has another one by then', () => {
  let deaths = 0;
  let most = 0;
  for (let at = 1; at <= STEPS_OF_FIND; at++) {
    for (let inner = 1; inner <= STEPS; inner++) {
      for (let death = 1; death <= STEPS; death++) {
        // The first of two entries belongs to another key for one more second.
        const buffer = create('keyed refuse 1 3!');
        const [finisher, owner, dying] = [attach(buffer), attach(buffer), attach(buffer)];
        let admitted = 0;
        const die = () => {
          const call = () => dying.run(['acquire', 1, 2, 0, SECOND]);
          if (preemption.call(call, death, () => undefined, true) === KILLED) deaths++;
        };
        const own = () => {
          if (preemption.call(() => owner.run(['acquire', 1, 3]), inner, die) === 0) admitted += 3;
        };
        const finish = () => finisher.run(['acquire', 1, 2, 0, SECOND]);
        if (preemption.call(finish, at, own) === 0) admitted += 2;
        // A burst of three, and one token per second.
        if (admitted > 4) expect({ admitted, at, inner, death }).toBeUndefined();
        most = Math.max(most, admitted);
      }
    }
  }
  expect(deaths).toBeGreaterThan(1000);
  expect(most).toBe(3);
});
