import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { ManualClock, Region, TokenBucket } from '../../../src/index.ts';
import type { TokenSource } from '../../../src/integrations/redis.ts';
import { FleetBucket, type FleetBucketOptions } from '../../../src/integrations/redis.ts';
import type { OpenOptions } from '../../../src/limiters/opening.ts';
import { until } from '../../support/settled.ts';

/** How long a fleet bucket waits between two commands, by default. */
export const INTERVAL_MS = 20;

export const CLOSED = { code: 'ERR_FLEET_CLOSED' };

/** Sells the tokens of a bucket. */
export function sourceOn(bucket: TokenBucket): TokenSource {
  return {
    consumeOrDrain: async (n) => bucket.consumeOrDrain(n),
    returnTokens: async (n) => bucket.returnTokens(n),
  };
}

/** A bucket behind promises, like a server's, whose answers the test controls. */
export class ControlledSource implements TokenSource {
  readonly bucket: TokenBucket;
  /** The amounts requested, in order. */
  readonly asked: number[] = [];
  /** The amounts returned, in order. */
  readonly returned: number[] = [];
  isDown = false;
  /** Whether answers are held back until {@link answer}. */
  isHeld = false;
  #held: (() => void)[] = [];

  constructor(bucket: TokenBucket) {
    this.bucket = bucket;
  }

  async consumeOrDrain(n: number): Promise<number> {
    this.asked.push(n);
    if (this.isDown) throw new Error('unreachable');
    const taken = this.bucket.consumeOrDrain(n);
    if (this.isHeld) await new Promise<void>((resolve) => this.#held.push(resolve));
    return taken;
  }

  async returnTokens(n: number): Promise<void> {
    if (this.isDown) throw new Error('unreachable');
    this.returned.push(n);
    this.bucket.returnTokens(n);
  }

  /** Sends the answers held back. */
  answer(): void {
    for (const send of this.#held.splice(0)) send();
  }
}

/** Runs everything that can happen at this instant of the clock. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await setImmediate();
}

/** Closes a fleet bucket after the test, unless the test has. */
function closed(bucket: FleetBucket): FleetBucket {
  onTestFinished(() => (bucket.isClosed ? undefined : bucket.close()));
  return bucket;
}

type Joining = Partial<FleetBucketOptions> & { readonly stock: number };

/** A source and processes that buy from it, on one manual clock. */
export class Fleet {
  readonly clock = ManualClock.create();
  readonly source: ControlledSource;

  constructor(limit: { rate: number; burst: number; initial?: number }) {
    this.source = new ControlledSource(TokenBucket.create({ ...limit, clock: this.clock }));
  }

  /**
   * A process without jitter, so that it waits exactly one interval between commands. It is closed
   * after the test.
   */
  async join(options: Joining): Promise<FleetBucket> {
    const given = { source: this.source, clock: this.clock, random: () => 0, ...options };
    return closed(await FleetBucket.create(given as FleetBucketOptions));
  }

  /** Advances the clock and runs everything that is due. */
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await settle();
  }

  /** Moves the clock step by step until the condition holds, which it must within this time. */
  async passUntil(isSo: () => boolean, withinMs: number, stepMs = INTERVAL_MS): Promise<void> {
    for (let ms = 0; !isSo(); ms += stepMs) {
      expect(ms).toBeLessThanOrEqual(withinMs);
      await this.pass(stepMs);
    }
  }
}

type SourceLimit = ConstructorParameters<typeof Fleet>[0];

/** A fleet of one process; its source has a token per millisecond by default. */
export async function fleetOf(options: Joining, limit: SourceLimit = { rate: 1000, burst: 1000 }) {
  const fleet = new Fleet(limit);
  return { fleet, source: fleet.source, process: await fleet.join(options) };
}

/** A region, and a bucket from which several fleet buckets of one name buy. */
export class Market {
  readonly region = Region.create();
  readonly clock = ManualClock.open(this.region, 'clock');
  readonly bucket: TokenBucket;

  constructor(limit: { rate: number; burst: number; initial?: number }) {
    this.bucket = TokenBucket.create({ ...limit, clock: this.clock });
  }

  source(): ControlledSource {
    return new ControlledSource(this.bucket);
  }

  /** Opens a fleet bucket that is closed after the test. */
  async open(
    source: ControlledSource,
    options: Partial<OpenOptions<FleetBucketOptions>> = {},
    name = 'hot',
  ): Promise<FleetBucket> {
    const { region, clock } = this;
    const given = { source, clock, random: () => 0, stock: 100, ...options };
    return closed(await FleetBucket.open(region, name, given as OpenOptions<FleetBucketOptions>));
  }

  /** Moves the clock from one purchase to the next until the condition holds. */
  async passUntil(condition: () => boolean, what: string): Promise<void> {
    await until(() => {
      this.clock.advance(INTERVAL_MS);
      return condition();
    }, what);
  }

  /** Moves the clock until the wait is served. */
  async serve(wait: Promise<unknown>, what: string): Promise<void> {
    let isOver = false;
    const end = wait.finally(() => {
      isOver = true;
    });
    await this.passUntil(() => isOver, what);
    await end;
  }
}
