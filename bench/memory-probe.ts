// Run by parts/memory.ts in its own process with --expose-gc; prints its results as JSON.

import Bottleneck from 'bottleneck';
import { RateLimiter } from 'limiter';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import {
  FixedWindow,
  LeakyBucket,
  Region,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  TokenBucket,
} from '../src/index.ts';
import { KeyedTokenBucket } from '../src/keyed.ts';

/** Bytes per limiter, or per entry of a key. */
export interface MemoryRow {
  readonly name: string;
  /** In shared memory, once for all threads. Undefined for limiters that use none. */
  readonly shared: number | undefined;
  /** On the heap of each thread that holds it. */
  readonly heap: number;
}

const objects = Number(process.argv[2]);

/** Room for any limiter here and for the region's header. */
const ROOM = 4096;

function heapUsed(): number {
  // The second run frees what the first one finalizes.
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** Heap bytes per object that `make` returns. */
function heapOfEach(make: (index: number) => unknown): number {
  const held: unknown[] = new Array(objects).fill(undefined);
  const fill = () => {
    for (let index = 0; index < objects; index++) held[index] = make(index);
  };
  // Warm-up: compiled code is on the heap too.
  fill();
  held.fill(undefined);
  const before = heapUsed();
  fill();
  const bytes = heapUsed() - before;
  if (held.includes(undefined)) throw new Error('nothing was made');
  // Unrelated garbage freed in between can outweigh very small objects.
  return Math.max(0, Math.round(bytes / objects));
}

function limiter(name: string, make: (region: Region) => unknown): MemoryRow {
  const region = Region.create({ bytes: ROOM });
  const before = region.bytesFree;
  make(region);
  const shared = before - region.bytesFree;
  const roomy = Region.create({ bytes: 2 * objects * shared + ROOM });
  return { name, shared, heap: heapOfEach(() => make(roomy)) };
}

/** Keys hold no heap memory, so this is the size of one more entry in shared memory. */
function keyedEntry(): MemoryRow {
  const bytesOf = (capacity: number) => {
    const region = Region.create({ bytes: capacity * 64 + ROOM });
    const before = region.bytesFree;
    KeyedTokenBucket.create({ rate: 1, burst: 10, capacity, region });
    return before - region.bytesFree;
  };
  const buckets = KeyedTokenBucket.create({ rate: 1e-3, burst: 10, capacity: objects });
  const keys = Array.from({ length: objects }, (_, index) => `user-${index}`);
  return {
    name: 'KeyedTokenBucket, each key',
    shared: (bytesOf(2 * objects) - bytesOf(objects)) / objects,
    heap: heapOfEach((index) => buckets.tryConsume(keys[index] ?? '')),
  };
}

async function flexibleKey(): Promise<MemoryRow> {
  const limiter = new RateLimiterMemory({ points: 10, duration: 1000 });
  const keysOf = (name: string) =>
    Array.from({ length: objects }, (_, index) => `${name}-${index}`);
  // Warm-up: compiled code is on the heap too.
  for (const key of keysOf('warm-up')) await limiter.consume(key);
  const keys = keysOf('user');
  const before = heapUsed();
  for (const key of keys) await limiter.consume(key);
  const heap = Math.round((heapUsed() - before) / objects);
  const last = await limiter.get(keys.at(-1) ?? '');
  if (last?.consumedPoints !== 1) throw new Error('a key was lost');
  return { name: 'rate-limiter-flexible, each key', shared: undefined, heap };
}

const rows: MemoryRow[] = [
  limiter('TokenBucket', (region) => TokenBucket.create({ rate: 1, burst: 10, region })),
  limiter('LeakyBucket', (region) => LeakyBucket.create({ rate: 1, region })),
  limiter('FixedWindow', (region) => FixedWindow.create({ limit: 10, intervalMs: 100, region })),
  limiter('SlidingWindow', (region) =>
    SlidingWindow.create({ limit: 10, intervalMs: 100, region }),
  ),
  limiter('SlidingLog, limit 10', (region) =>
    SlidingLog.create({ limit: 10, intervalMs: 100, region }),
  ),
  limiter('Sometimes', (region) => Sometimes.create({ every: 10, region })),
  keyedEntry(),
  {
    name: 'npm limiter',
    shared: undefined,
    heap: heapOfEach(() => new RateLimiter({ tokensPerInterval: 10, interval: 100 })),
  },
  {
    name: 'bottleneck',
    shared: undefined,
    heap: heapOfEach(() => new Bottleneck({ reservoir: 10 })),
  },
  await flexibleKey(),
];

console.log(JSON.stringify(rows));
