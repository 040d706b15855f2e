import { ManualClock, Region, TokenBucket } from '../../../src/index.ts';
import { FleetBucket, type FleetBucketOptions } from '../../../src/integrations/redis.ts';
import type { OpenOptions } from '../../../src/limiters/opening.ts';
import { until } from '../../support/settled.ts';
import { ControlledSource } from './fleet-source.ts';

/** How long a fleet bucket waits between two commands, by default. */
const INTERVAL_MS = 20;
export const CLOSED = { code: 'ERR_FLEET_CLOSED' };

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

  open(
    source: ControlledSource,
    options: Partial<OpenOptions<FleetBucketOptions>> = {},
    name = 'hot',
  ): Promise<FleetBucket> {
    const { region, clock } = this;
    const given = { source, clock, random: () => 0, stock: 100, ...options };
    return FleetBucket.open(region, name, given as OpenOptions<FleetBucketOptions>);
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
