import { HostRegion } from '../../src/host.ts';
import {
  attach,
  type LimiterHandle,
  Semaphore,
  systemClock,
  TokenBucket,
} from '../../src/index.ts';

/** Opens regions and a bucket in each, at the same instants as other processes. */
interface OpenJob {
  readonly open: string;
  readonly rounds: number;
  readonly startUs: number;
  readonly everyUs: number;
}

/** What a process does with a region when it is asked to. */
export type HostJob =
  | OpenJob
  | { readonly hold: string; readonly permits: number }
  | { readonly acquire: string }
  | { readonly acquireSync: string }
  | { readonly wait: string }
  | { readonly take: LimiterHandle<'token-bucket'> };

const BYTES = 65_536;

function openTogether({ open, rounds, startUs, everyUs }: OpenJob) {
  return Array.from({ length: rounds }, (_, round) => {
    while (systemClock.now() < startUs + round * everyUs) {
      // All processes start at one instant.
    }
    const region = HostRegion.open({ path: `${open}-${round}`, bytes: BYTES });
    const bucket = TokenBucket.open(region, 'api', { rate: 1e-6, burst: 100 });
    const { offset, nonce } = bucket.handle;
    bucket.tryConsume();
    return { region, found: `${offset} ${nonce}` };
  }).map(({ region, found }) => {
    region.close();
    return found;
  });
}

function semaphoreOf(path: string): Semaphore {
  return Semaphore.open(HostRegion.open({ path }), 'permits', { permits: 3 });
}

async function answer(job: HostJob): Promise<unknown> {
  if ('open' in job) return openTogether(job);
  if ('hold' in job) return semaphoreOf(job.hold).tryAcquire(job.permits) !== undefined;
  if ('acquire' in job) return (await semaphoreOf(job.acquire).acquire()).n;
  if ('acquireSync' in job) return semaphoreOf(job.acquireSync).acquireSync()?.n;
  if ('take' in job) return attach(job.take).consumeOrDrain(3);
  const bucket = TokenBucket.open(HostRegion.open({ path: job.wait }), 'api', {
    burst: 5,
    rate: 0,
  });
  await bucket.wait();
  return systemClock.now();
}

process.on('message', (job: HostJob) => {
  answer(job).then(
    (result) => process.send?.({ result }),
    (error: Error) => process.send?.({ error: `${error.message}` }),
  );
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
