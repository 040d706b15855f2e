import { RateLimitError, Region, type RegionHandle, TokenBucket } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';
import { serve } from '../support/serve.ts';

/** Creates buckets in a region until it is full, together with other threads. */
export interface AllocateJob {
  readonly region: RegionHandle;
  readonly gate: SharedArrayBuffer;
  /** The number of arrivals that opens the gate. */
  readonly arrivals: number;
}

/** The offsets of the created buckets, and the code of the final error. */
export interface Allocated {
  readonly offsets: readonly number[];
  readonly code: string;
}

serve(({ region: handle, gate, arrivals }: AllocateJob): Allocated => {
  const region = Region.attach(handle);
  const offsets: number[] = [];
  const start = new Gate(gate);
  start.arrive();
  start.await(arrivals);
  for (;;) {
    try {
      const bucket = TokenBucket.create({ rate: 1, burst: 5, region });
      if (bucket.consumeOrDrain(9) !== 5) throw new Error('another bucket lies in the same place');
      offsets.push(bucket.handle.offset);
    } catch (error) {
      if (error instanceof RateLimitError) return { offsets, code: error.code };
      throw error;
    }
  }
});
