import { TickerClock } from '../../src/index.ts';
import type { Limited, Variant } from '../variants.ts';
import type { VariantData } from '../workers/zerotime.ts';
import type { Counts, Peer, Run } from './peer.ts';
import { measureThreads } from './worker-threads.ts';

const WORKER = new URL('../workers/zerotime.js', import.meta.url);

/** Stops the ticker's thread, so that it does not run during the next measurement. */
function stopClock({ clock }: Limited): void {
  if (clock instanceof TickerClock) clock.dispose();
}

/** One variant of this library. */
export function zerotime({ name, create }: Variant): Peer {
  async function measure(run: Run): Promise<Counts> {
    const { rate, burst, initial } = run.load;
    const bucket = await create({ rate, burst, initial });
    const share = (): VariantData => ({ name, handle: bucket.handle });
    const counts = await measureThreads({ worker: WORKER, share }, run);
    stopClock(bucket);
    return counts;
  }

  async function measureRaces(run: Run): Promise<Counts> {
    const { rate, burst, initial } = run.load;
    const bucket = await create({ rate, burst, initial, stats: true });
    const share = (): VariantData => ({ name, handle: bucket.handle });
    let before = 0;
    const beforeStart = () => {
      before = bucket.stats().failedExchanges;
    };
    const counts = await measureThreads({ worker: WORKER, share, beforeStart }, run);
    stopClock(bucket);
    return { ...counts, failedExchanges: bucket.stats().failedExchanges - before };
  }

  return {
    name,
    mostThreads: Number.POSITIVE_INFINITY,
    prepare: async () => ({ state: 'ready', versions: [] }),
    measure,
    measureRaces,
  };
}
