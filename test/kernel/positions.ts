import { Region } from '../../src/index.ts';
import { createBucketCell } from '../../src/kernel/bucket/cell.ts';
import { type HostedBucket, openBucket, Position } from '../../src/kernel/bucket/host.ts';
import type { Schedule } from '../../src/kernel/bucket/schedule.ts';
import type { CellPlace } from '../../src/memory/cell.ts';

export const KERNELS = {
  JavaScript: (place: CellPlace): HostedBucket => openBucket(place, 'atomics'),
  compiled: (place: CellPlace): HostedBucket => openBucket(place, 'wasm'),
};

/** A bucket that is empty at `nowUs`, and the callers that wait for its tokens. */
export class PositionScene {
  readonly place: CellPlace;
  readonly kernel: HostedBucket;
  nowUs: number;

  constructor(open: (place: CellPlace) => HostedBucket, schedule: Schedule, nowUs = 0) {
    const region = Region.create();
    this.nowUs = nowUs;
    const kind = 'token-bucket';
    this.place = createBucketCell({ kind, schedule, nowUs, initial: 0, stats: false, region });
    this.kernel = open(this.place);
  }

  /** Undefined if it need not wait. */
  join(tokens: number): Position | undefined {
    const waitUs = this.kernel.acquire(this.nowUs, tokens, Number.POSITIVE_INFINITY);
    if (waitUs <= 0) return undefined;
    return new Position(this.kernel, this.nowUs + waitUs);
  }

  waiting(tokens: number): Position {
    const position = this.join(tokens);
    if (position === undefined) throw new Error('there is no need to wait');
    return position;
  }

  change(schedule: Schedule): void {
    this.kernel.reconfigure(
      () => this.nowUs,
      () => schedule,
    );
  }

  /** When the bucket has paid back all its debt: the instant of the last caller in the queue. */
  paidUs(): number {
    return this.nowUs + this.kernel.timeUntil(this.nowUs, 0);
  }
}
