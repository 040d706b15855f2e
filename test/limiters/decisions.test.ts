import { describe, expect, test } from 'vitest';
import {
  type BucketLimit,
  LeakyBucket,
  ManualClock,
  RateLimitError,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import type { BucketCalls } from '../../src/limiters/bucket-calls.ts';
import type { ContinuousLimit } from '../../src/limiters/limit.ts';
import { toNumber } from '../oracle/calls.ts';
import { TokenBucketOracle } from '../oracle/token-bucket.ts';
import {
  casesFor,
  type Decider,
  decided,
  type Implementation,
  type Outcome,
} from '../support/decision-cases.ts';
import { PlainBucket } from '../support/plain-limiter.ts';

type Make = (limit: BucketLimit, clock: ManualClock) => Decider;

/** Decides through reservations, which distinguish "later" from "never". */
function deciderOf(bucket: BucketCalls): Decider {
  return {
    take(n, maxWaitMs) {
      try {
        return bucket.reserve(n, { maxWaitMs })?.waitMs ?? 'later';
      } catch (error) {
        if (error instanceof RateLimitError && error.code === 'ERR_EXCEEDS_BURST') return 'never';
        throw error;
      }
    },
    balance: () => bucket.balance(),
  };
}

function continuous(make: (limit: ContinuousLimit, clock: ManualClock) => BucketCalls): Make {
  return (limit, clock) => {
    if (!('rate' in limit)) throw new TypeError('this one fills continuously');
    return deciderOf(make(limit, clock));
  };
}

function reference(limit: BucketLimit, clock: ManualClock): Decider {
  const bucket = new TokenBucketOracle(limit, limit.burst, () => clock.now());
  return {
    take(n, maxWaitMs): Outcome {
      const taken = bucket.acquire(n, maxWaitMs * 1000);
      if (taken === undefined) return n > bucket.burst ? 'never' : 'later';
      return toNumber(taken.waitUs) / 1000;
    },
    balance: () => bucket.balance().toNumber(),
  };
}

const MAKE: Readonly<Record<Exclude<Implementation, 'redis'>, Make>> = {
  atomics: (limit, clock) => deciderOf(TokenBucket.create({ ...limit, clock, kernel: 'atomics' })),
  wasm: (limit, clock) => deciderOf(TokenBucket.create({ ...limit, clock, kernel: 'wasm' })),
  key: continuous((limit, clock) =>
    KeyedTokenBucket.create({ ...limit, clock, capacity: 1 }).for('key'),
  ),
  leaky: continuous(({ rate, burst }, clock) => {
    const bucket = LeakyBucket.create({ rate, slack: burst - 1, clock });
    bucket.returnTokens(bucket.slack);
    return bucket;
  }),
  plain: continuous((limit, clock) => PlainBucket.create({ ...limit, clock })),
  reference,
};

describe.each(Object.entries(MAKE))('%s decides as the table says:', (name, make) => {
  test.each(casesFor(name as Implementation))('%s', async (_, row) => {
    const clock = ManualClock.create();
    const { outcome, balance } = row;
    expect(await decided(row, clock, make(row.limit, clock))).toEqual({ outcome, balance });
  });
});
