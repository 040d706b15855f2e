import { describe, expect, it } from 'vitest';
import { ManualClock, Region } from '../../src/index.ts';
import { hostRegion } from '../support/host.ts';
import { type ContractLimiter, LIMIT, LIMITER_CASES } from '../support/limiter-cases.ts';
import { part, Random, SEED } from '../support/random.ts';

const STEPS = part(20_000, 2000);
const BYTES = 2 ** 21;

const REGIONS: readonly (readonly [name: string, create: () => Region])[] = [
  ['a region', () => Region.create({ bytes: BYTES })],
  ['a region in plain memory', () => Region.create({ bytes: BYTES, plain: true })],
  ['a region of a host', () => hostRegion({ bytes: BYTES })],
];

const CALLS: readonly [Call, ...Call[]] = [
  (limiter, n) => limiter.tryConsume(n),
  (limiter, n) => limiter.consumeOrDrain?.(n),
  (limiter, n) => limiter.decide(n),
  (limiter, n) => limiter.timeUntil(n),
  (limiter) => limiter.available(),
];

type Call = (limiter: ContractLimiter, n: number) => unknown;

interface Pair {
  readonly name: string;
  readonly limiter: ContractLimiter;
  /** In a region of its own. */
  readonly twin: ContractLimiter;
}

describe.each(REGIONS)('limiters of every kind in %s', (_, makeRegion) => {
  it.each(['wasm', 'atomics'])('act as each does in a region of its own (%s)', (kernel) => {
    const random = new Random(SEED);
    const clock = ManualClock.create({ nowMs: 123_456 });
    const region = makeRegion();
    const kinds = LIMITER_CASES.filter((one) => one.kernel === kernel);
    // Two of each, made in any order, between calls of those that are there.
    const unmade = [...kinds, ...kinds];
    const pairs: Pair[] = [];
    for (let step = 0; step < STEPS; step++) {
      if (unmade.length > 0 && random.below(10) === 0) {
        for (const { name, create } of unmade.splice(random.below(unmade.length), 1)) {
          pairs.push({
            name,
            limiter: create(clock, region),
            twin: create(clock, Region.create()),
          });
        }
      }
      if (random.below(8) === 0) clock.advance(random.below(200));
      const { name, limiter, twin } = pairs[random.below(pairs.length)] ?? {};
      if (limiter === undefined || twin === undefined) continue;
      const n = 1 + random.below(LIMIT);
      const call = random.pick(CALLS);
      const [result, expected] = [call(limiter, n), call(twin, n)];
      // To expect something takes ten times as long as a step.
      if (typeof result !== 'object' && result === expected) continue;
      expect(result, `${name}, step ${step}, seed ${SEED}`).toEqual(expected);
    }
    expect(unmade).toEqual([]);
  });
});
