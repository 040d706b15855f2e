import { expect, test } from 'vitest';
import { ManualClock, Region, TokenBucket } from '../../src/index.ts';
import type { Limit } from '../oracle/contents.ts';
import { BucketWalk, type Step } from '../support/bucket-walk.ts';
import { part, Random, SEED } from '../support/random.ts';

const ROUNDS = part(200, 20);
const STEPS = 150;
const RATES = [1000, 2000, 4000, 8000] as const;
const BURSTS = [1, 2.25, 5, 1000] as const;
const LONG_MS = 20 * 86_400e3;

function limitOf(random: Random): Limit {
  return { rate: random.pick(RATES), burst: random.pick(BURSTS) };
}

function stepOf(random: Random): Step {
  const n = random.below(50) / 4;
  const call = random.pick(['take', 'wait', 'give', 'cancel', 'move', 'leap', 'change'] as const);
  switch (call) {
    case 'take':
      return { call: random.pick(['tryConsume', 'consumeOrDrain', 'decide'] as const), n };
    case 'wait': {
      const maxWaitMs = random.pick([0, 3, 1000, Number.POSITIVE_INFINITY]);
      return { call: random.pick(['acquire', 'reserve'] as const), n, maxWaitMs };
    }
    case 'give':
      return { call: random.pick(['returnTokens', 'charge', 'look'] as const), n };
    case 'cancel':
      return { call: 'cancel', which: random.below(6) };
    case 'move':
      return { call: 'move', ms: (random.below(400) - 100) / 32 };
    case 'leap':
      return { call: 'move', ms: random.below(20) === 0 ? LONG_MS : 250 };
    case 'change':
      return { call: 'reconfigure', limit: limitOf(random) };
  }
}

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
    const random = new Random(SEED);
    for (let round = 0; round < ROUNDS; round++) {
      const walks = regionsOf().map((region) => {
        const clock = ManualClock.create({ nowMs: random.pick([0, 12_345_678, 1705509033000]) });
        const limit = limitOf(random);
        const bucket = TokenBucket.create({ ...limit, region, clock });
        return new BucketWalk(bucket, clock, limit, limit.burst, false);
      });
      for (let step = 0; step < STEPS; step++)
        walks[random.below(walks.length)]?.step(stepOf(random));
    }
    expect.hasAssertions();
  },
);
