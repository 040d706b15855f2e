import { expect } from 'vitest';
import {
  type BucketLimit,
  type LimitChange,
  LimitSet,
  type LimitsChange,
  ManualClock,
  REFUSED,
  type Reservation,
  type SeveralLimits,
  TokenBucket,
} from '../../../src/index.ts';
import type { Acquired, RemoteBucket } from '../../../src/integrations/redis/remote-bucket.ts';
import { LATER, NEVER } from '../../../src/kernel/bucket/kernel.ts';
import { changedSchedule, changeOf } from '../../../src/limiters/limit.ts';
import type { Random } from '../../support/random.ts';
import { type Connection, remote } from './connections.ts';

/** A bucket in memory and one on the server, side by side, at the same times. */
export class BucketPair {
  readonly clock = ManualClock.create({ nowMs: 1_705_509_033_000 });
  readonly #ours: TokenBucket | LimitSet;
  readonly #theirs: RemoteBucket;
  readonly #held: { ours: Reservation; theirs: Acquired }[] = [];

  constructor(client: Connection, key: string, limit: BucketLimit | SeveralLimits) {
    const { clock } = this;
    this.#ours =
      'limits' in limit
        ? LimitSet.create({ ...limit, clock })
        : TokenBucket.create({ ...limit, clock });
    this.#theirs = remote(client, limit, () => this.clock.now(), key);
  }

  get #areSeveral(): boolean {
    return this.#ours instanceof LimitSet;
  }

  /** Whether tokens are promised that are not due yet: in memory a change moves them. */
  get hasPromised(): boolean {
    return this.#ours.balance() < 0;
  }

  async reconfigure(change: LimitChange | LimitsChange): Promise<void> {
    const ours = this.#ours;
    if ('limits' in change) {
      (ours as LimitSet).reconfigure(change);
      await this.#theirs.reconfigure((now) => changeOf(now.length, change.limits)(now));
    } else {
      (ours as TokenBucket).reconfigure(change);
      await this.#theirs.reconfigure(([now]) => [changedSchedule(now, change)]);
    }
    const { schedules } = this.#theirs;
    const { rate, burst } = ours;
    const limits = ours instanceof LimitSet ? ours.limits : [{ rate, burst }];
    expect(schedules.map(({ rate, burst }) => ({ rate, burst }))).toEqual(limits);
  }

  /** Writes to both, so that both renew their origin, if necessary, at the same instant. */
  async renew(): Promise<void> {
    this.#ours.returnTokens(0);
    await this.#theirs.returnTokens(0);
    // Only a bucket in memory still cancels what it admitted before.
    this.#held.length = 0;
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
    const grains = this.#theirs.schedules.map(
      ({ ticksPerToken, burst }) => 16 / ticksPerToken + 2 ** -48 * burst,
    );
    return Math.max(...grains);
  }

  async step(random: Random, n: number, maxWaitMs: number): Promise<void> {
    const ours = this.#ours;
    const theirs = this.#theirs;
    switch (random.below(8)) {
      case 0:
        expect(await theirs.tryTake(n), `tryConsume(${n})`).toBe(ours.tryConsume(n));
        break;
      case 1: {
        const { waitUs } = await theirs.acquire(n, maxWaitMs * 1000);
        if (waitUs === NEVER) {
          expect(() => ours.acquire(n, maxWaitMs)).toThrow(/^n must be at most /);
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
        // A set in memory moves promised tokens up.
        if (this.#areSeveral && this.hasPromised) break;
        ours.returnTokens(n);
        await theirs.returnTokens(n);
        // Only a bucket in memory can still cancel a reservation that returned tokens have moved up.
        this.#held.length = 0;
        break;
      case 4:
        expect(await theirs.decide(n), `decide(${n})`).toEqual(ours.decide(n));
        break;
      case 5: {
        // In memory, a set can be cancelled after others were, and what took nothing always; on a
        // server they cannot.
        if (n === 0 || n > ours.burst || this.#areSeveral) break;
        const acquired = await theirs.acquire(n, maxWaitMs * 1000);
        const promised = ours.reserve(n, { maxWaitMs });
        expect(acquired.waitUs === LATER, `reserve(${n}, ${maxWaitMs})`).toBe(
          promised === undefined,
        );
        if (promised !== undefined) this.#held.push({ ours: promised, theirs: acquired });
        break;
      }
      case 6: {
        const [held] = this.#held.splice(random.below(this.#held.length || 1), 1);
        if (held === undefined) break;
        const isCancelled = held.ours.putBack();
        expect(await theirs.cancel(held.theirs), 'cancel').toBe(isCancelled);
        // In memory, the one before can be cancelled next; here, unless the bucket was full between.
        if (isCancelled && this.#areSeveral) this.#held.length = 0;
        break;
      }
      default:
        expect(await theirs.timeUntil(n), `timeUntil(${n})`).toBe(ours.timeUntil(n) * 1000);
    }
    await this.balance();
  }
}
