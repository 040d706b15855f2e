import { describe, expect, test } from 'vitest';
import type { BucketLimit, ContinuousLimit, SeveralLimits } from '../../../src/index.ts';
import { LATER, NEVER } from '../../../src/kernel/bucket/kernel.ts';
import { MAX_SPAN_TICKS } from '../../../src/kernel/constants.ts';
import { changeOf } from '../../../src/limiters/limit.ts';
import { type Granted, mostBeyond, type Returned } from '../../oracle/bound.ts';
import {
  casesFor,
  type Decider,
  type DecisionCase,
  decided,
} from '../../support/decision-cases.ts';
import { part, Random, SEED } from '../../support/random.ts';
import { BucketPair } from './bucket-pair.ts';
import { CONNECT, connectionOfTest, PACKAGES, remote, serverOfSuite } from './connections.ts';
import { LACKS_REDIS } from './server.ts';

const STEPS = part(20_000, 1_000);
/** Random limits that a walk is taken under. */
const LIMITS = part(150, 9);
/** Steps under one limit. */
const WALK = 100;
/** Walks taken at once, each on a key of its own: their commands travel together. */
const AT_ONCE = 8;
const DAY_MS = 86_400e3;

const KINDRED = [1000, 2000, 4000, 8000] as const;
const BURSTS = [1, 3, 12, 2.25, 0.5, 1000, 5e8] as const;

/** Tokens are whole numbers of ticks under each of them, and of each other's. */
function severalLimits(random: Random, count: number): SeveralLimits {
  const limits = Array.from({ length: count }, () => ({
    rate: random.pick(KINDRED),
    burst: random.pick(BURSTS),
  }));
  return { limits };
}

/** Any rate, and any burst that it can have. */
function extremeLimit(random: Random): ContinuousLimit {
  const rate = random.logarithmic(1e-6, 4e9);
  const most = Math.min(2 ** 52, Math.floor(MAX_SPAN_TICKS / Math.round(4096e6 / rate)));
  return { rate, burst: Math.max(1, Math.floor(random.logarithmic(1, most))) };
}

function anyLimit(random: Random): BucketLimit {
  const burst = random.pick(BURSTS);
  if (random.below(2) === 0) return { rate: random.pick(KINDRED), burst };
  const quantum = random.pick([1, 2, 4, 16]);
  return { quantum, fillIntervalMs: random.pick([0.25, 1, 10, 250]), burst };
}

/** Takes `count` walks, each with random numbers of its own. */
async function walks(
  count: number,
  walk: (random: Random, number: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let number = next++; number < count; number = next++) {
      await walk(new Random(SEED + number), number);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

// docs/redis.md: "In any interval of t seconds of the server's clock"
describe.skipIf(LACKS_REDIS)('a bucket on a server', () => {
  const server = serverOfSuite();

  test.each(PACKAGES)(
    `with %s answers like one in memory (ZEROTIME_SEED=${SEED})`,
    async (name) => {
      const connection = await CONNECT[name](server.url);
      await walks(STEPS / WALK / PACKAGES.length, async (random, number) => {
        const pair = new BucketPair(connection, `walk-${name}-${number}`, anyLimit(random));
        await pair.reconfigure({});
        for (let i = 0; i < WALK; i++) {
          const chance = random.below(20);
          if (chance === 0) await pair.reconfigure(anyLimit(random));
          else if (chance === 1) {
            pair.clock.advance(random.below(40) * DAY_MS);
            await pair.renew();
          } else if (chance < 8) pair.clock.advance(random.below(1000) / 8);
          const maxWaitMs = random.pick([0, 1, 50, 5000, Number.POSITIVE_INFINITY]);
          await pair.step(random, random.below(60) / 4, maxWaitMs);
        }
      });
      connection.end();
    },
  );

  test(`with several limits answers like one in memory (ZEROTIME_SEED=${SEED})`, async () => {
    const connection = await CONNECT.redis(server.url);
    await walks(STEPS / WALK / 2, async (random, number) => {
      const count = 2 + random.below(7);
      const pair = new BucketPair(connection, `several-${number}`, severalLimits(random, count));
      for (let i = 0; i < WALK; i++) {
        const chance = random.below(20);
        if (chance === 0 && !pair.hasPromised) {
          const { limits } = severalLimits(random, count);
          await pair.reconfigure({ limits: limits.map((l) => random.pick([l, l, {}])) });
        } else if (chance === 1) {
          pair.clock.advance(random.below(40) * DAY_MS);
          await pair.renew();
        } else if (chance < 8) pair.clock.advance(random.below(1000) / 8);
        const maxWaitMs = random.pick([0, 1, 50, Number.POSITIVE_INFINITY]);
        await pair.step(random, random.below(60) / 4, maxWaitMs);
      }
    });
    connection.end();
  });

  test(`keeps each limit, but for promises at a change or a return (ZEROTIME_SEED=${SEED})`, async () => {
    const connection = await CONNECT.redis(server.url);
    await walks(part(300, 16), async (random, number) => {
      let nowUs = 1e12;
      const anyOf = () => ({
        rate: random.pick(KINDRED),
        burst: random.pick([1, 2, 3, 5, 12, 40]),
      });
      let limits: readonly ContinuousLimit[] = Array.from({ length: 1 + (number % 3) }, anyOf);
      const bucket = remote(connection, { limits }, () => nowUs, `bound-${number}`);
      const changes = [{ atUs: 0, limits }];
      const returned: Returned[] = [];
      let granted: (Granted & { isKept?: boolean })[] = [];
      const keep = () => {
        granted = granted.map((one) => (one.atUs > nowUs ? { ...one, isKept: true } : one));
      };
      for (let i = 0; i < WALK; i++) {
        const chance = random.below(20);
        const n = random.pick([1, 1, 2, 3, 5]);
        if (chance < 12) {
          const { waitUs } = await bucket.acquire(n, random.pick([0, 5e3, 50e3, 1e12]));
          if (waitUs >= 0) granted.push({ atUs: nowUs + waitUs, n });
        } else if (chance < 17) nowUs += random.below(random.pick([100, 1000, 5000, 30_000]));
        else if (chance < 19) {
          const unused = granted.findIndex(({ atUs, isKept }) => atUs <= nowUs && !isKept);
          const [one] = unused < 0 ? [] : granted.splice(unused, 1);
          if (one === undefined) continue;
          keep();
          await bucket.returnTokens(one.n);
          returned.push({ atUs: nowUs, takenUs: one.atUs, n: one.n });
        } else {
          keep();
          const place = random.below(limits.length);
          limits = limits.map((limit, i) => (i === place ? anyOf() : limit));
          await bucket.reconfigure((now) => changeOf(now.length, limits)(now));
          changes.push({ atUs: nowUs, limits });
        }
      }
      const counted = granted.filter(({ isKept }) => !isKept);
      for (const place of limits.keys()) {
        const history = changes.map(({ atUs, limits }) => {
          const { rate, burst } = limits[place] as ContinuousLimit; // there are always as many
          return { atUs, rate, burst };
        });
        const most = Math.max(...history.map(({ burst }) => burst));
        const { beyond, text } = mostBeyond(counted, history, returned);
        expect(beyond, text).toBeLessThanOrEqual(most + 1e-6);
      }
    });
    connection.end();
  });

  // docs/redis.md: "Every sum of these and a time of at most 2^52 ticks"
  // docs/redis.md: "Divisions, in consumeOrDrain, reconfigure and by a fill"
  test(`is equally exact at any rate and burst (ZEROTIME_SEED=${SEED})`, async () => {
    const connection = await CONNECT.redis(server.url);
    let steps = 0;
    await walks(LIMITS, async (random, number) => {
      const limit = extremeLimit(random);
      const pair = new BucketPair(connection, `any-${number}`, limit);
      const { rate, burst } = limit;
      for (let i = 0; i < 30; i++) {
        const whole = Math.floor(random.logarithmic(1, 2 * burst));
        if (!(await pair.roundedStep(random, whole))) break;
        const fillMs = (burst / rate) * 1000;
        const span = Math.min(random.logarithmic(0.001, fillMs + 1), 300 * DAY_MS);
        pair.clock.advance(Math.round(span * 1000) / 1000);
        steps++;
      }
    });
    expect(steps).toBeGreaterThan(10 * LIMITS);
    connection.end();
  });
});

/** Microseconds of the Unix epoch, as a server counts them. */
const START_US = 1_705_509_033_000_000;

describe.skipIf(LACKS_REDIS)('a bucket on a server decides as the table says:', () => {
  const connection = connectionOfTest(serverOfSuite());

  async function decidedBy(key: string, row: DecisionCase, limit: BucketLimit | SeveralLimits) {
    let nowUs = START_US;
    const clock = {
      advance(ms: number) {
        nowUs += ms * 1000;
      },
    };
    const bucket = remote(connection, limit, () => nowUs, key);
    const decider: Decider = {
      async take(n, maxWaitMs) {
        const { waitUs } = await bucket.acquire(n, maxWaitMs * 1000);
        if (waitUs === LATER) return 'later';
        return waitUs === NEVER ? 'never' : waitUs / 1000;
      },
      balance: () => bucket.balance(),
    };
    return decided(row, clock, decider);
  }

  test.each(casesFor('redis'))('%s', async (key, row) => {
    const { outcome, balance } = row;
    expect(await decidedBy(key, row, row.limit)).toEqual({ outcome, balance });
  });

  const continuous = casesFor('redis').filter(([, { limit }]) => 'rate' in limit);
  const unlimited = { rate: Number.POSITIVE_INFINITY, burst: Number.POSITIVE_INFINITY };
  test.each(continuous)('%s, as one of several limits', async (key, row) => {
    const { outcome, balance } = row;
    const limit = row.limit as ContinuousLimit;
    for (const limits of [
      [limit, limit],
      [unlimited, limit],
      [limit, unlimited, limit],
    ]) {
      const name = `${key} of ${limits.length}, ${limits.indexOf(limit)}`;
      expect(await decidedBy(name, row, { limits })).toEqual({ outcome, balance });
    }
  });
});
