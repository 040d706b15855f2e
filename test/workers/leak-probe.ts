import { getEventListeners, setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { FixedWindow, ManualClock, RateLimitError, Region, TokenBucket } from '../../src/index.ts';

// Runs in its own process with --expose-gc: repeats one operation very often, and reports what
// leaked. One of the operations is to start a thread, which attaches, takes a token and exits.

declare const gc: () => void;

/** The resources of a process. */
export interface Holdings {
  readonly heapBytes: number;
  readonly residentBytes: number;
  /** Mappings use address space even if they use no memory. */
  readonly virtualBytes: number;
  readonly timersAndHandles: number;
  readonly listeners: number;
}

/** After half of the repetitions, and after all of them. */
export interface Leaked {
  readonly half: Holdings;
  readonly whole: Holdings;
}

const BATCH = 1000;
/** Concurrent threads. */
const AT_A_TIME = 4;
const forever = new AbortController().signal;
setMaxListeners(0, forever);

async function holdings(): Promise<Holdings> {
  // Memory freed by finalizers takes a few turns of the event loop.
  for (let turn = 0; turn < 5; turn++) {
    gc();
    await setImmediate();
  }
  const pages = Number(readFileSync('/proc/self/statm', 'utf8').split(' ')[0]);
  return {
    heapBytes: process.memoryUsage().heapUsed,
    residentBytes: process.memoryUsage().rss,
    virtualBytes: pages * 4096,
    timersAndHandles: process.getActiveResourcesInfo().length,
    listeners: getEventListeners(forever, 'abort').length,
  };
}

/** Waits that end in each possible way: timed out, aborted, served. */
async function waits(count: number): Promise<void> {
  const clock = ManualClock.create();
  const limiters = [
    TokenBucket.create({ rate: 1, burst: 1 }),
    FixedWindow.create({ limit: 1, intervalMs: 1e6 }),
    TokenBucket.create({ rate: 1, burst: 1, clock }),
  ];
  for (const limiter of limiters) limiter.tryConsume();
  const served = TokenBucket.create({ rate: 1000, burst: 1, initial: 0, clock });
  for (let done = 0; done < count; done += BATCH) {
    const abort = new AbortController();
    const { signal } = abort;
    setMaxListeners(0, signal);
    const reasons = new Set<string>();
    const pending: Promise<unknown>[] = [];
    for (let i = 0; i < BATCH; i++) {
      const limiter = limiters[i % limiters.length] ?? served;
      const wait =
        i % 8 === 0
          ? served.wait(1, { signal: forever })
          : limiter.wait(1, i % 2 === 0 ? { timeoutMs: 5, signal: forever } : { signal });
      pending.push(
        wait.catch((error) => {
          if (error !== signal.reason && !(error instanceof RateLimitError)) throw error;
          reasons.add(error instanceof RateLimitError ? error.code : 'aborted');
        }),
      );
    }
    abort.abort();
    clock.advance(BATCH);
    await Promise.all(pending);
    if (reasons.size < 2) throw new Error(`waits ended for ${[...reasons]} alone`);
  }
}

/** Limiters with a region each, which become garbage at once. */
async function limiters(count: number): Promise<void> {
  for (let made = 0; made < count; made++) {
    const bucket = TokenBucket.create({ rate: 1, burst: 2, region: Region.create() });
    if (!bucket.tryConsume(2) || bucket.tryConsume()) throw new Error('a new bucket is not full');
    if (made % BATCH < BATCH - 1) continue;
    gc(); // of shared memory V8 takes no account
    await setImmediate();
  }
}

/** Threads that attach, take a token and exit, a few at a time. */
async function workers(count: number): Promise<void> {
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate: 1, burst: 1e6, clock, stats: true });
  const before = bucket.balance();
  const url = new URL(import.meta.url);
  let left = count;
  const startOneByOne = async () => {
    while (left-- > 0) {
      const worker = new Worker(url, { workerData: bucket.handle });
      await new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, startOneByOne));
  const taken = before - bucket.balance();
  if (taken !== count) throw new Error(`${count} threads took ${taken} tokens`);
}

const KINDS = { waits, limiters, workers } as const;

async function probe(kind: string, times: number): Promise<void> {
  const repeat = KINDS[kind as keyof typeof KINDS];
  const halfway = times / 2;
  // Fills caches and pools first.
  await repeat(Math.ceil(halfway / 10 / BATCH) * (repeat === workers ? 10 : BATCH));
  await repeat(halfway);
  const half = await holdings();
  await repeat(halfway);
  const leaked: Leaked = { half, whole: await holdings() };
  console.log(JSON.stringify(leaked));
}

if (isMainThread) {
  const [kind = '', times] = process.argv.slice(2);
  await probe(kind, Number(times));
} else if (!TokenBucket.attach(workerData).tryConsume()) throw new Error('no token is left');
