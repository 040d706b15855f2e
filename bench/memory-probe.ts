// Run by parts/memory.ts in a process of its own, with --expose-gc: prints what it finds as JSON.

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

/** Bytes of one limiter, or of one key's entry. */
export interface MemoryRow {
  readonly name: string;
  /** In shared memory, once for all threads. Undefined for limiters that share none. */
  readonly shared: number | undefined;
  /** On the heap of each thread that holds it. */
  readonly heap: number;
}

const objects = Number(process.argv[2]);

/** Room for a limiter of any kind here, and for a region's own bytes. */
const ROOM = 4096;

function heapUsed(): number {
  // Twice: what the first run finalizes, the second one frees.
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** The heap that one more of what `make` makes takes. */
function heapOfEach(make: (index: number) => unknown): number {
  const held: unknown[] = new Array(objects).fill(undefined);
  const fill = () => {
    for (let index = 0; index < objects; index++) held[index] = make(index);
  };
  // First without looking, as compiled code lies on the heap, too.
  fill();
  held.fill(undefined);
  const before = heapUsed();
  fill();
  const bytes = heapUsed() - before;
  if (held.includes(undefined)) throw new Error('nothing was made');
  // What is freed besides can outweigh what holds next to nothing.
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

/** Keys hold nothing on the heap, so this is one entry more in shared memory. */
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
  // First without looking, as compiled code lies on the heap, too.
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
