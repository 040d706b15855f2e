import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type BucketLimit,
  type LimitChange,
  ManualClock,
  REFUSED,
  type Reservation,
  TokenBucket,
} from '../../../src/index.ts';
import type { RemoteBucket, RemoteReceipt } from '../../../src/integrations/redis/remote-bucket.ts';
import { LATER, NEVER } from '../../../src/kernel/bucket/kernel.ts';
import { MAX_SPAN_TICKS } from '../../../src/kernel/constants.ts';
import { decisionOf } from '../../../src/limiters/decision.ts';
import { changedSchedule } from '../../../src/limiters/limit.ts';
import { part, Random, SEED } from '../../support/random.ts';
import { CONNECT, type Connection, PACKAGES, remote } from './connections.ts';
import { LACKS_REDIS, RedisServer } from './server.ts';

const STEPS = part(20_000, 4_000);
/** Random limits that a walk is taken under. */
const LIMITS = part(100, 20);
/** Steps under one limit. */
const WALK = 100;
const DAY_MS = 86_400e3;

/** A bucket in memory and one on the server, side by side, at the same times. */
class Pair {
  readonly clock = ManualClock.create({ nowMs: 1_705_509_033_000 });
  readonly #ours: TokenBucket;
  readonly #theirs: RemoteBucket;
  readonly #held: { ours: Reservation; theirs: RemoteReceipt }[] = [];

  constructor(client: Connection, key: string, limit: BucketLimit) {
    this.#ours = TokenBucket.create({ ...limit, clock: this.clock });
    this.#theirs = remote(client, limit, () => this.clock.now(), key);
  }

  async reconfigure(change: LimitChange): Promise<void> {
    this.#ours.reconfigure(change);
    await this.#theirs.reconfigure((schedule) => changedSchedule(schedule, change));
    expect(this.#theirs.schedule.rate).toBe(this.#ours.rate);
    expect(this.#theirs.schedule.burst).toBe(this.#ours.burst);
  }

  /** Writes to both, so that both renew their origin, if necessary, at the same instant. */
  async renew(): Promise<void> {
    this.#ours.returnTokens(0);
    await this.#theirs.returnTokens(0);
  }

  async balance(): Promise<void> {
    expect(await this.#theirs.balance(), 'balance').toBe(this.#ours.balance());
  }

  /**
   * One step under a limit with fractional ticks: the two round clock readings from different
   * origins. Returns whether they still agree. They may differ only if the margin is within the
   * rounding.
   */
  async roundedStep(random: Random, n: number): Promise<boolean> {
    const ours = this.#ours;
    const theirs = this.#theirs;
    const before = ours.balance();
    const grain = this.#grain();
    expect(Math.abs((await theirs.balance()) - before), 'balance').toBeLessThanOrEqual(grain);
    switch (random.below(4)) {
      case 0: {
        const isAdmitted = (await theirs.acquire(n, 0)).waitUs === 0;
        if (isAdmitted === ours.tryConsume(n)) return true;
        expect(Math.abs(before - n), 'what was decisive').toBeLessThanOrEqual(grain);
        return false;
      }
      case 1: {
        const taken = await theirs.drain(n);
        if (taken === ours.consumeOrDrain(n)) return true;
        const tokens = Math.max(0, before);
        const off = Math.abs(tokens - Math.round(tokens));
        expect(off, 'what was decisive').toBeLessThanOrEqual(grain);
        return false;
      }
      case 2:
        ours.returnTokens(n);
        await theirs.returnTokens(n);
        return true;
      default:
        if ((await theirs.acquire(n, Number.POSITIVE_INFINITY)).waitUs !== NEVER) ours.acquire(n);
        return true;
    }
  }

  /**
   * The most that roundings may amount to in a walk: a few ticks, and the last bits of a double.
   */
  #grain(): number {
    const { ticksPerToken, capTicks } = this.#theirs.schedule;
    return 16 / ticksPerToken + 2 ** -48 * (Number(capTicks) / ticksPerToken);
  }

  async step(random: Random, n: number, maxWaitMs: number): Promise<void> {
    const ours = this.#ours;
    const theirs = this.#theirs;
    switch (random.below(8)) {
      case 0:
        expect((await theirs.acquire(n, 0)).waitUs === 0, `tryConsume(${n})`).toBe(
          ours.tryConsume(n),
        );
        break;
      case 1: {
        const { waitUs } = await theirs.acquire(n, maxWaitMs * 1000);
        if (waitUs === NEVER) {
          expect(() => ours.acquire(n, maxWaitMs)).toThrow(/more than can ever be granted/);
          break;
        }
        const waitMs = ours.acquire(n, maxWaitMs);
        expect(waitUs < 0 ? REFUSED : waitUs / 1000, `acquire(${n}, ${maxWaitMs})`).toBe(waitMs);
        break;
      }
      case 2:
        expect(await theirs.drain(n), `drain(${n})`).toBe(ours.consumeOrDrain(n));
        break;
      case 3:
        ours.returnTokens(n);
        await theirs.returnTokens(n);
        // Only a bucket in memory can still cancel a reservation that returned tokens have moved up.
        this.#held.length = 0;
        break;
      case 4:
        expect(decisionOf(await theirs.decide(n)), `decide(${n})`).toEqual(ours.decide(n));
        break;
      case 5: {
        if (n > ours.burst) break;
        const acquired = await theirs.acquire(n, maxWaitMs * 1000);
        const promised = ours.reserve(n, { maxWaitMs });
        expect(acquired.waitUs === LATER, `reserve(${n}, ${maxWaitMs})`).toBe(
          promised === undefined,
        );
        if (promised !== undefined) this.#held.push({ ours: promised, theirs: acquired.receipt });
        break;
      }
      case 6: {
        const [held] = this.#held.splice(random.below(this.#held.length || 1), 1);
        if (held === undefined) break;
        expect(await theirs.cancel(held.theirs), 'cancel').toBe(held.ours.cancel());
        break;
      }
      default:
        expect(await theirs.timeUntil(n), `timeUntil(${n})`).toBe(ours.timeUntil(n) * 1000);
    }
    await this.balance();
  }
}

const KINDRED = [1000, 2000, 4000, 8000] as const;
const BURSTS = [1, 3, 12, 2.25, 0.5, 1000, 5e8] as const;

function anyLimit(random: Random): BucketLimit {
  const burst = random.pick(BURSTS);
  if (random.below(2) === 0) return { rate: random.pick(KINDRED), burst };
  const quantum = random.pick([1, 2, 4, 16]);
  return { quantum, fillIntervalMs: random.pick([0.25, 1, 10, 250]), burst };
}

describe.skipIf(LACKS_REDIS)('a bucket on a server', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server?.stop());

  test.each(PACKAGES)(
    `with %s answers like one in memory (ZEROTIME_SEED=${SEED})`,
    async (name) => {
      const random = new Random(SEED);
      const connection = await CONNECT[name](server.url);
      for (let walk = 0; walk < STEPS / WALK / PACKAGES.length; walk++) {
        const pair = new Pair(connection, `walk-${name}-${walk}`, anyLimit(random));
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
      }
      connection.end();
    },
  );

  test(`is equally exact at any rate and burst (ZEROTIME_SEED=${SEED})`, async () => {
    const random = new Random(SEED);
    const connection = await CONNECT.redis(server.url);
    let steps = 0;
    for (let walk = 0; walk < LIMITS; walk++) {
      const rate = random.logarithmic(1e-6, 4e9);
      const most = Math.min(2 ** 52, Math.floor(MAX_SPAN_TICKS / Math.round(4096e6 / rate)));
      const burst = Math.max(1, Math.floor(random.logarithmic(1, most)));
      const pair = new Pair(connection, `any-${walk}`, { rate, burst });
      for (let i = 0; i < 30; i++) {
        const whole = Math.floor(random.logarithmic(1, 2 * burst));
        if (!(await pair.roundedStep(random, whole))) break;
        const fillMs = (burst / rate) * 1000;
        const span = Math.min(random.logarithmic(0.001, fillMs + 1), 300 * DAY_MS);
        pair.clock.advance(Math.round(span * 1000) / 1000);
        steps++;
      }
    }
    expect(steps).toBeGreaterThan(10 * LIMITS);
    connection.end();
  });
});
