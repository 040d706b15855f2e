import { TokenBucket } from '../../src/index.ts';
import type { Counts, Peer, Run } from './peer.ts';
import { measureThreads } from './worker-threads.ts';

const WORKER = new URL('../workers/zerotime.js', import.meta.url);

function measure(run: Run): Promise<Counts> {
  const { rate, burst, initial } = run.load;
  const bucket = TokenBucket.create({ rate, burst, initial });
  return measureThreads({ worker: WORKER, shared: bucket.handle }, run);
}

async function measureRaces(run: Run): Promise<Counts> {
  const { rate, burst, initial } = run.load;
  const bucket = TokenBucket.create({ rate, burst, initial, stats: true });
  let before = 0;
  const beforeStart = () => {
    before = bucket.stats().lostRaces;
  };
  const counts = await measureThreads({ worker: WORKER, shared: bucket.handle, beforeStart }, run);
  return { ...counts, lostRaces: bucket.stats().lostRaces - before };
}

/** `tryConsume` of this library, as a user calls it. */
export const zerotime: Peer = {
  name: 'zerotime',
  prepare: async () => undefined,
  supports: () => true,
  measure,
  measureRaces,
};
