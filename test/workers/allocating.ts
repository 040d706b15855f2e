import type { KernelName } from '../../src/index.ts';
import { TokenBucket } from '../../src/index.ts';
import { serve } from '../support/serve.ts';

/** Makes calls and measures what they allocate. In a thread of its own, where nothing else was compiled. */
export interface AllocatingJob {
  readonly kernel: KernelName;
  readonly call: 'tryConsume' | 'consumeOrDrain' | 'acquire' | 'an object';
  readonly calls: number;
}

/** Between two looks at the heap: so few that what one call allocates is not collected in between. */
const BATCH = 10_000;

/** What the heap grew by, over all calls; where it shrank, it was collected. */
function bytesPerCall(calls: number, call: () => unknown): number {
  let grown = 0;
  let before = process.memoryUsage().heapUsed;
  for (let made = 0; made < calls; made += BATCH) {
    for (let i = 0; i < BATCH; i++) call();
    const after = process.memoryUsage().heapUsed;
    grown += Math.max(0, after - before);
    before = after;
  }
  return grown / calls;
}

serve(({ kernel, call, calls }: AllocatingJob): number => {
  const bucket = TokenBucket.create({ rate: 4e9, burst: 1e9, kernel });
  let kept: unknown;
  const ways = {
    tryConsume: () => bucket.tryConsume(),
    consumeOrDrain: () => bucket.consumeOrDrain(2),
    acquire: () => bucket.acquire(1, 0),
    'an object': () => {
      kept = { allocated: kept !== undefined };
    },
  };
  // The optimizing compiler is what keeps temporary numbers out of the heap.
  bytesPerCall(100 * BATCH, ways[call]);
  return bytesPerCall(calls, ways[call]);
});
