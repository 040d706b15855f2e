import { describe, expect, it } from 'vitest';
import { allOf, ManualClock, TokenBucket } from '../../src/index.ts';
import { LIMIT, LIMITER_CASES } from '../support/limiter-cases.ts';
import { expectSame } from '../support/quick.ts';
import { IN_FULL, part, Random, SEED, SHARE } from '../support/random.ts';
import { settled } from '../support/settled.ts';

const KINDS = LIMITER_CASES.filter(({ kernel }) => kernel !== 'plain');
const NAMES = KINDS.map(({ name }) => name);
/** Each pair on one kernel, by the seed, and in the other order on the other; a part in `npm test`. */
const PAIRS = KINDS.flatMap((first) =>
  KINDS.filter(({ kernel }) => kernel === first.kernel).map((second) => ({ first, second })),
).filter(({ first, second }) => {
  const [one, other] = [NAMES.indexOf(first.name), NAMES.indexOf(second.name)];
  const number = one + other + Number(one < other);
  if (!IN_FULL && (number + (SEED >> 1)) % 4 !== 0) return false;
  return SHARE >= 1 || (number + SEED) % 2 === Number(first.kernel === 'wasm');
});

/** Windows are 500 ms long. */
const WINDOW_MS = 500;
const STEPS = part(2000, 80);
const where = (step: number) => `step ${step}, seed ${SEED}`;

describe('every kind of limiter in allOf', () => {
  it.each(PAIRS)(
    '$first.name with $second.name ($first.kernel) admits what both admit, window after window',
    ({ first, second }) => {
      const random = new Random(SEED);
      const clock = ManualClock.create({ nowMs: random.below(1e6) });
      const kinds = [first, second];
      const parts = kinds.map(({ create }) => create(clock));
      // The same limiters, called one by one.
      const twins = kinds.map(({ create }) => create(clock));
      const both = allOf(...parts);
      const windows = new Set<number>();
      for (let step = 0; step < STEPS || windows.size < 5; step++) {
        const n = 1 + random.below(3);
        const call = random.below(8);
        const place = call % 2;
        if (call < 2) {
          const isTaken = parts[place]?.tryConsume(n);
          expectSame(isTaken, twins[place]?.tryConsume(n), where(step));
        } else if (call < 6) {
          const isFree = twins.every((twin) => twin.timeUntil(n) === 0);
          if (isFree) for (const twin of twins) twin.tryConsume(n);
          expectSame(both.tryConsume(n), isFree, where(step));
          if (isFree) windows.add(Math.floor(clock.nowMs / WINDOW_MS));
        } else {
          clock.advance(random.logarithmic(1, 2 * WINDOW_MS));
        }
        const left = parts.map((limiter) => limiter.available());
        const expected = twins.map((twin) => twin.available());
        if (left.every((n, i) => n === expected[i])) continue;
        expect(left, where(step)).toEqual(expected);
      }
    },
  );

  // docs/guide.md: "Callers of wait form one line for each allOf"
  it.each(KINDS)('$name ($kernel) serves fifty waiting callers in turn', async ({ create }) => {
    const clock = ManualClock.create({ nowMs: 123_456 });
    const wide = TokenBucket.create({ rate: 1e6, burst: 1000, clock });
    const both = allOf(create(clock), wide);
    const served: number[] = [];
    for (let i = 0; i < 50; i++) void both.wait().then(() => served.push(i));
    await settled();
    expect(served).toHaveLength(LIMIT);
    for (let ms = 0; ms < 11 * WINDOW_MS; ms += 50) {
      clock.advance(50);
      await settled();
    }
    expect(served).toEqual(Array.from({ length: 50 }, (_, i) => i));
  });
});
