import { setImmediate } from 'node:timers/promises';
import { ManualClock, TokenBucket } from '../../../src/index.ts';
import type { TokenSource } from '../../../src/integrations/redis.ts';
import { FleetBucket, type FleetBucketOptions } from '../../../src/integrations/redis.ts';

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

/** A source and processes that buy from it, on one manual clock. */
export class Fleet {
  readonly clock = ManualClock.create();
  readonly source: ControlledSource;

  constructor(limit: { rate: number; burst: number; initial?: number }) {
    this.source = new ControlledSource(TokenBucket.create({ ...limit, clock: this.clock }));
  }

  /** A process without jitter, so that it waits exactly one interval between commands. */
  join(options: Partial<FleetBucketOptions> & { readonly stock: number }): Promise<FleetBucket> {
    const { source, clock } = this;
    return FleetBucket.create({ source, clock, random: () => 0, ...options } as FleetBucketOptions);
  }

  /** Advances the clock and runs everything that is due. */
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await settle();
  }
}
