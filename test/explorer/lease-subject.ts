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
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import type { Operation, Subject } from './subject.ts';

export { reference } from './lease-reference.ts';

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
  readonly identity: string;
  protected readonly waiters = new Waiters();
  readonly #place: CellPlace;

  constructor(buffer: SharedArrayBuffer, kernel: ExploredKernel = 'atomics') {
    super(ManualClock.create());
    const region = Region.open(buffer);
    const offset = REGION_HEADER_BYTES;
    const nonce = nonceOf({ region, offset, bytes: 0 });
    this.#place = openBucketCell(region, offset, 'token-bucket', nonce);
    this.changes = changesOf(this.#place);
    this.identity = identityOf(this.#place);
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
  const lease = bucket.lease(64);
  return {
    run([name, a = 0, b = 0]: Operation): unknown {
      switch (name) {
        case 'spend':
          return lease.tryConsume(a);
        case 'release':
          return lease.release() >= 0;
        // reconfigure rate burst
        case 'reconfigure':
          return bucket.reconfigure(a, b) ?? null;
        default:
          throw new Error(`no operation ${name}`);
      }
    },
  };
}

export function observe(buffer: SharedArrayBuffer): unknown {
  const { rate, limit, kernel, clock } = new LeasedBucket(buffer);
  return { rate, burst: limit, balance: kernel.balance(clock.now()) };
}
