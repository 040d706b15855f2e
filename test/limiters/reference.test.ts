import fc from 'fast-check';
import { describe, test } from 'vitest';
import { LeakyBucket, ManualClock, Region, TokenBucket } from '../../src/index.ts';
import type { Limit } from '../oracle/contents.ts';
import { BucketWalk, type Step } from '../support/bucket-walk.ts';
import { part, SEED } from '../support/random.ts';

/** Number of walks per check, and maximum number of steps in each. */
const WALKS = { numRuns: part(500, 40) };
const STEPS = { maxLength: 60, size: 'max' } as const;
/** Longer than any bucket keeps its origin. */
const LONG_MS = 20 * 86_400e3;

// Rates at which a quarter of a token and 1/32 of a millisecond are whole ticks, and instants that
// a double represents exactly, even in microseconds since the Unix epoch.
const exactRate = fc.constantFrom(0.5, 1, 2, 5, 10, 16, 125, 1000, 10_000, 250_000, 1e6);
/** A token at each rate is a whole number of ticks at the others, so reconfiguring is exact. */
const kindredRate = fc.constantFrom(1000, 2000, 4000, 8000);
const exactBurst = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(0.5, 2.25, 1000));
const exactTokens = fc.integer({ min: 0, max: 50 }).map((quarters) => quarters / 4);
const wholeTokens = fc.integer({ min: 0, max: 12 });
const exactMs = fc.oneof(
  fc.integer({ min: 0, max: 5000 }).map((parts) => parts / 32),
  fc.integer({ min: 0, max: 3000 }),
  fc.integer({ min: 0, max: 40 }).map((quarters) => quarters * 250),
);
const exactWaitMs = fc.oneof(
  fc.constantFrom(0, Number.POSITIVE_INFINITY),
  fc.integer({ min: 0, max: 5000 }),
);

interface Steps {
  readonly tokens: fc.Arbitrary<number>;
  readonly ms: fc.Arbitrary<number>;
  readonly limit?: fc.Arbitrary<Limit>;
  /** Whether the clock may jump by months and years. Default true. */
  readonly leaps?: boolean;
}

function anyStep({ tokens: n, ms, limit, leaps = true }: Steps): fc.Arbitrary<Step> {
  const maxWaitMs = exactWaitMs;
  const step: fc.Arbitrary<Step>[] = [
    fc.record({ call: fc.constantFrom('tryConsume', 'consumeOrDrain', 'decide'), n }),
    fc.record({ call: fc.constantFrom('acquire', 'reserve'), n, maxWaitMs }),
    fc.record({ call: fc.constantFrom('returnTokens', 'charge', 'look'), n }),
    fc.record({ call: fc.constant('cancel'), which: fc.nat(5) }),
    fc.record({ call: fc.constant('move'), ms }),
    fc.record({ call: fc.constant('move'), ms: ms.map((span) => -span) }),
  ];
  const leap = fc.nat(12).map((spans) => spans * LONG_MS);
  if (leaps) step.push(fc.record({ call: fc.constant('move'), ms: leap }));
  if (limit !== undefined) step.push(fc.record({ call: fc.constant('reconfigure'), limit }));
  return fc.oneof(...step);
}

function steps(options: Steps): fc.Arbitrary<Step[]> {
  return fc.array(anyStep(options), STEPS);
}

interface Start {
  readonly limit: fc.Arbitrary<Limit>;
  readonly steps: fc.Arbitrary<Step[]>;
  /** The smallest fraction of a token that a bucket may start with. Default 1/4. */
  readonly grain?: number;
  readonly leaky?: boolean;
  readonly rounded?: boolean;
}

function agreesWithTheReference(start: Start): void {
  const { limit, steps, grain = 1 / 4, leaky = false, rounded = false } = start;
  const nowMs = fc.constantFrom(0, 1, 12_345_678, 1705509033000);
  const property = fc.property(
    limit,
    nowMs,
    fc.double({ min: 0, max: 1, noNaN: true }),
    steps,
    (...drawn) => {
      const [limit, nowMs, part, walk] = drawn;
      const clock = ManualClock.create({ nowMs });
      const initial = leaky ? 1 : Math.floor((limit.burst * part) / grain) * grain;
      const bucket =
        leaky && 'rate' in limit
          ? LeakyBucket.create({ rate: limit.rate, slack: limit.burst - 1, clock })
          : TokenBucket.create({ ...limit, initial, clock });
      const pair = new BucketWalk(bucket, clock, limit, initial, rounded);
      for (const step of walk) pair.step(step);
    },
  );
  fc.assert(property, WALKS);
}

// README.md: "It holds (now - zero-time) x rate tokens, at most the burst."
describe(`every answer in a random walk matches the reference's (ZEROTIME_SEED=${SEED})`, () => {
  test('of a continuous bucket, to the last bit', () => {
    const limit = fc.record({ rate: exactRate, burst: exactBurst });
    agreesWithTheReference({ limit, steps: steps({ tokens: exactTokens, ms: exactMs }) });
  });

  test('of a continuous bucket that is reconfigured, to the last bit', () => {
    const limit = fc.record({ rate: kindredRate, burst: exactBurst });
    agreesWithTheReference({ limit, steps: steps({ tokens: exactTokens, ms: exactMs, limit }) });
  });

  test('of a reservation that was due and returned, and whose tokens are taken again', () => {
    const limit = { rate: 1000, burst: 1 };
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ ...limit, initial: 0, clock });
    const pair = new BucketWalk(bucket, clock, limit, 0, false);
    pair.step({ call: 'reserve', n: 0.25, maxWaitMs: 1 });
    pair.step({ call: 'reconfigure', limit });
    pair.step({ call: 'move', ms: 0.25 });
    pair.step({ call: 'returnTokens', n: 0.25 });
    pair.step({ call: 'look', n: 0 });
    pair.step({ call: 'tryConsume', n: 0.25 });
    pair.step({ call: 'look', n: 0 });
  });

  test('of a reservation that was due and returned before the clock stepped back', () => {
    const limit = { rate: 1000, burst: 0.5 };
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ ...limit, initial: 0, clock });
    const pair = new BucketWalk(bucket, clock, limit, 0, false);
    pair.step({ call: 'reserve', n: 0.25, maxWaitMs: 1 });
    pair.step({ call: 'move', ms: 0.25 });
    pair.step({ call: 'returnTokens', n: 0.25 });
    pair.step({ call: 'move', ms: -0.28125 });
    pair.step({ call: 'returnTokens', n: 0.25 });
    pair.step({ call: 'look', n: 0 });
  });

  test('of a quantum bucket, to the last bit', () => {
    const limit = fc.record({
      quantum: fc.constantFrom(1, 2, 4, 16),
      fillIntervalMs: fc.constantFrom(0.25, 1, 10, 250, 1000),
      burst: exactBurst,
    });
    agreesWithTheReference({ limit, steps: steps({ tokens: exactTokens, ms: exactMs, limit }) });
  });

  test('of a quantum bucket whose token does not divide its interval', () => {
    const limit = fc.record({
      quantum: fc.integer({ min: 1, max: 1000 }),
      fillIntervalMs: fc.integer({ min: 1, max: 10_000 }),
      burst: fc.integer({ min: 1, max: 12 }),
    });
    // After a jump its fills are within a nanosecond of their instants, not exactly on them.
    const ms = fc.integer({ min: 0, max: 3000 });
    const walk = steps({ tokens: wholeTokens, ms, leaps: false });
    agreesWithTheReference({ limit, steps: walk, grain: 1, rounded: true });
  });

  test('of a leaky bucket, to the last bit', () => {
    const burst = fc.oneof(
      fc.constant(1),
      exactBurst.map((slack) => 1 + slack),
    );
    const limit = fc.record({ rate: kindredRate, burst });
    agreesWithTheReference({
      limit,
      steps: steps({ tokens: exactTokens, ms: exactMs, limit }),
      leaky: true,
    });
  });

  const anyTokens = fc.oneof(wholeTokens, fc.double({ min: 0, max: 100, noNaN: true }));
  const anyMs = fc.oneof(exactMs, fc.double({ min: 0, max: 1000, noNaN: true }));
  const anyLimit = (lowest: number, highest: number) =>
    fc.record({
      rate: fc.double({ min: lowest, max: highest, noNaN: true }).map((power) => 10 ** power),
      burst: fc.integer({ min: 1, max: 100 }),
    });

  test('of a bucket at any rate, except for documented roundings', () => {
    const walk = steps({ tokens: anyTokens, ms: anyMs });
    agreesWithTheReference({ limit: anyLimit(-3, 9.6), steps: walk, rounded: true });
  });

  test('of a bucket reconfigured to any rate, except for documented roundings', () => {
    const limit = anyLimit(1, 6);
    const walk = steps({ tokens: anyTokens, ms: anyMs, limit });
    agreesWithTheReference({ limit, steps: walk, rounded: true });
  });
});

/** The regions of three buckets. */
const PLACES = {
  'of one region': () => Array<Region>(3).fill(Region.create()),
  'of one plain region': () => Array<Region>(3).fill(Region.create({ plain: true })),
  'of plain regions at the same place': () =>
    Array.from({ length: 3 }, () => Region.create({ plain: true })),
  'of one plain region attached to three times': () => {
    const { handle } = Region.create({ plain: true });
    return Array.from({ length: 3 }, () => Region.attach(structuredClone(handle)));
  },
} as const;

test.each(Object.entries(PLACES))(
  `buckets %s, called in turn, each answer as the reference (ZEROTIME_SEED=${SEED})`,
  (_, regionsOf) => {
    const limit = fc.record({ rate: kindredRate, burst: exactBurst });
    const nowMs = fc.constantFrom(0, 12_345_678, 1705509033000);
    const step = anyStep({ tokens: exactTokens, ms: exactMs, limit });
    const turns = fc.array(fc.tuple(fc.nat(2), step), { maxLength: 150, size: 'max' });
    const buckets = fc.array(fc.tuple(limit, nowMs), { minLength: 3, maxLength: 3 });
    const property = fc.property(buckets, turns, (made, drawn) => {
      const regions = regionsOf();
      const walks = made.map(([limit, nowMs], i) => {
        const clock = ManualClock.create({ nowMs });
        const region = regions[i] as Region; // there are three
        const bucket = TokenBucket.create({ ...limit, region, clock });
        return new BucketWalk(bucket, clock, limit, limit.burst, false);
      });
      for (const [which, step] of drawn) walks[which]?.step(step);
    });
    fc.assert(property, { numRuns: part(200, 20) });
  },
);
