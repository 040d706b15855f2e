import { HostRegion } from '../../src/host.ts';
import {
  attach,
  KeyedLimitSet,
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

/** Reconfigures a bucket, and stops for ever before one of its steps. */
interface StallJob {
  readonly path: string;
  /** Before the exchange of the word, or the release of the record. */
  readonly stall: 'word' | 'release';
  readonly burst: number;
}

/** Opens and closes a region again and again. */
interface ReopenJob {
  readonly reopen: string;
  readonly rounds: number;
}

interface HoldJob {
  /** The path of the region. */
  readonly hold: string;
  readonly permits: number;
  /** For the permits of a process that another one is still recovering. */
  readonly waits?: boolean;
}

/** What a process does with a region when it is asked to. */
export type HostJob =
  | OpenJob
  | StallJob
  | HoldJob
  | ReopenJob
  | { readonly acquire: string }
  | { readonly acquireSync: string }
  | { readonly key: string; readonly path: string }
  | { readonly wait: string }
  | { readonly take: LimiterHandle<'token-bucket' | 'limit-set'> };

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

/** How many times the path of the open region led to another file, or to none. */
function reopen({ reopen: path, rounds }: ReopenJob): number {
  let lost = 0;
  for (let round = 0; round < rounds; round++) {
    const region = HostRegion.open({ path, bytes: BYTES });
    try {
      if (HostRegion.find(path) !== region) lost++;
    } catch {
      lost++;
    }
    region.close();
  }
  return lost;
}

function semaphoreOf(path: string): Semaphore {
  return Semaphore.open(HostRegion.open({ path }), 'permits', { permits: 3 });
}

function stallIn({ path, stall, burst }: StallJob): unknown {
  const region = HostRegion.open({ path });
  const kept = { kernel: 'atomics', onMismatch: 'keep' } as const;
  const bucket = TokenBucket.open(region, 'api', { rate: 1, burst: 1, ...kept });
  const { compareExchange } = Atomics;
  const stop = () => {
    process.send?.({ result: true });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  };
  const word = bucket.handle.offset >> 3;
  let isLive = false;
  Atomics.compareExchange = ((...args: Parameters<typeof compareExchange>) => {
    const [words, at] = args as unknown as [object, number];
    const isWord = words instanceof BigInt64Array && at === word;
    if (stall === 'word' ? isWord : isLive) stop();
    isLive ||= isWord;
    return compareExchange(...args);
  }) as typeof compareExchange;
  return bucket.reconfigure({ burst });
}

function keysOf(path: string): KeyedLimitSet {
  const limits = [
    { rate: 1e-6, burst: 100 },
    { rate: 1e-6, burst: 120 },
  ];
  return KeyedLimitSet.open(HostRegion.open({ path }), 'keys', { limits, capacity: 4 });
}

function hold({ hold: path, permits, waits }: HoldJob): boolean {
  const semaphore = semaphoreOf(path);
  return (waits ? semaphore.acquireSync(permits) : semaphore.tryAcquire(permits)) !== undefined;
}

async function answer(job: HostJob): Promise<unknown> {
  if ('stall' in job) return stallIn(job);
  if ('key' in job) return keysOf(job.path).tryConsume(job.key);
  if ('open' in job) return openTogether(job);
  if ('reopen' in job) return reopen(job);
  if ('hold' in job) return hold(job);
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
