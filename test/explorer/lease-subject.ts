import { ManualClock, Region, TokenBucket } from '../../src/index.ts';
import { changesOf, openBucketCell } from '../../src/kernel/bucket/cell.ts';
import type { BucketEngine } from '../../src/kernel/bucket/engine.ts';
import { HostedBucket } from '../../src/kernel/bucket/host.ts';
import { continuous } from '../../src/kernel/bucket/schedule.ts';
import { BucketCalls } from '../../src/limiters/bucket-calls.ts';
import { Lease } from '../../src/limiters/lease.ts';
import type { Description } from '../../src/limiters/state.ts';
import { Waiters } from '../../src/limiters/waiting.ts';
import { type CellPlace, identityOf, nonceOf } from '../../src/memory/cell.ts';
import type { SharedEvent } from '../../src/memory/event.ts';
import { REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import { TokenBucketOracle } from '../oracle/token-bucket.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import { operations, type Reference, type Subject } from './subject.ts';

/** Maximum number of tokens that a lease takes at a time. */
const SIZE = 64;

/** `setup` is `burst initial`; time stands still. */
export function create(setup: string): SharedArrayBuffer {
  const [burst = 1, initial = burst] = setup.split(' ').map(Number);
  const region = Region.create({ buffer: new SharedArrayBuffer(1024) });
  TokenBucket.create({ rate: 1, burst, initial, region, clock: ManualClock.create() });
  return region.buffer;
}

/** A bucket like those of TokenBucket, but with a given kernel. */
class LeasedBucket extends BucketCalls {
  readonly kernel: HostedBucket;
  readonly changes: SharedEvent;
  readonly at: { readonly identity: string };
  protected readonly waiters = new Waiters();
  readonly #place: CellPlace;

  constructor(buffer: SharedArrayBuffer, kernel: ExploredKernel = 'atomics') {
    super(ManualClock.create());
    const region = Region.open(buffer);
    const offset = REGION_HEADER_BYTES;
    const nonce = nonceOf({ region, offset, bytes: 0 });
    this.#place = openBucketCell(region, offset, 'token-bucket', nonce);
    this.changes = changesOf(this.#place);
    this.at = { identity: identityOf(this.#place) };
    const opened = exploredEngine<BucketEngine>('buckets', kernel, region);
    this.kernel = new HostedBucket(opened, this.#place);
  }

  protected sleepUntilDue(): never {
    throw new Error('nobody waits while a lease is explored');
  }

  protected seek(): HostedBucket {
    return this.kernel;
  }

  protected describe(): Description {
    return ['LeasedBucket', this.contents()];
  }

  lease(size: number): Lease {
    return new Lease(this, this.kernel, { size });
  }

  reconfigure(rate: number, burst: number): void {
    this.kernel.reconfigure(
      () => this.clock.now(),
      () => continuous(rate, burst),
    );
  }
}

/** Each thread has its own lease. */
export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const bucket = new LeasedBucket(buffer, kernel);
  const lease = bucket.lease(SIZE);
  return operations({
    spend: (tokens = 0) => lease.tryConsume(tokens),
    release: () => lease.release() >= 0,
    reconfigure: (rate = 0, burst = 0) => bucket.reconfigure(rate, burst) ?? null,
  });
}

export function observe(buffer: SharedArrayBuffer): unknown {
  const { rate, limit, kernel, clock } = new LeasedBucket(buffer);
  return { rate, burst: limit, balance: kernel.balance(clock.now()) };
}

export function reference(setup: string): Reference {
  const [burst = 1, initial = burst] = setup.split(' ').map(Number);
  const bucket = new TokenBucketOracle({ rate: 1, burst }, initial, () => 0);

  const balance = () => bucket.balance().toNumber();
  const takes = (tokens: number) => {
    const isThere = tokens <= balance();
    if (isThere) bucket.take(tokens);
    return isThere;
  };

  const attach = (): Subject => {
    let stock = 0;
    let { limit } = bucket;
    const release = () => {
      bucket.putBack(stock);
      stock = 0;
      return true;
    };
    let isShort = false;
    /**
     * Adds the needed tokens to the stock, or up to half of the bucket if that is more and the last
     * refill was not refused.
     */
    const refill = (needed: number, most: number) => {
      const spared = Math.max(needed, Math.floor(Math.min(most, balance() / 2)));
      const taken = (isShort ? [needed] : [spared, needed]).find(takes);
      stock += taken ?? 0;
      isShort = taken === undefined;
      return !isShort;
    };
    return operations({
      spend(tokens = 0) {
        // The stock was taken under another limit.
        if (bucket.limit !== limit) release();
        limit = bucket.limit;
        const most = Math.min(SIZE, limit.burst);
        if (tokens > most) return release() && takes(tokens);
        if (tokens > stock && !refill(tokens - stock, most)) return false;
        stock -= tokens;
        return true;
      },
      release,
      reconfigure(newRate = 0, newBurst = 0) {
        bucket.reconfigure({ rate: newRate, burst: newBurst });
      },
    });
  };

  return { attach, observe: () => ({ balance: balance(), ...bucket.limit }) };
}
