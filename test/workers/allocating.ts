import { ROOT_CONTEXT } from '@opentelemetry/api';
import {
  type Clock,
  FixedWindow,
  type Limiter,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  systemClock,
  TokenBucket,
} from '../../src/index.ts';
import { ConsistentRateLimitingSampler } from '../../src/integrations/opentelemetry.ts';
import { serve } from '../support/serve.ts';

/** Measures what calls allocate, in a separate thread so that no other compiled code interferes. */
export interface AllocatingJob {
  readonly call:
    | 'tryConsume'
    | 'consumeOrDrain'
    | 'acquire'
    | 'a fixed window admits'
    | 'a fixed window refuses'
    | 'a sliding window admits'
    | 'a sliding window refuses'
    | 'a sliding log admits'
    | 'a sliding log refuses'
    | 'a Sometimes counts'
    | 'a sampler drops'
    | 'a sampler with minima drops'
    | 'an object';
  /** The most calls to try. */
  readonly calls: number;
  /** Looks no further once a call allocates less. */
  readonly enough: number;
  /** Whether to read the system's clock, where a reading can be free of allocations. */
  readonly onSystemClock: boolean;
}

/** Calls between two heap readings: few enough that no garbage is collected in between. */
const BATCH = 10_000;
const STRETCH = 1_000_000;

/** The growth of the heap; a decrease means a garbage collection and counts as 0. */
function grownBy(calls: number, call: () => unknown): number {
  let grown = 0;
  let before = process.memoryUsage().heapUsed;
  for (let made = 0; made < calls; made += BATCH) {
    for (let i = 0; i < BATCH; i++) call();
    const after = process.memoryUsage().heapUsed;
    grown += Math.max(0, after - before);
    before = after;
  }
  return grown;
}

/**
 * Bytes per call in the best stretch, because the optimizing compiler, which keeps temporary
 * numbers off the heap, runs at an unpredictable time.
 */
function bytesPerCall({ calls, enough }: AllocatingJob, call: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let made = 0; made < calls && least >= enough; made += STRETCH) {
    least = Math.min(least, grownBy(STRETCH, call) / STRETCH);
  }
  return least;
}

/** A clock that certainly allocates nothing: each reading is one microsecond later. */
class CountingClock implements Clock {
  readonly name = 'counting';
  readonly handle = { name: 'system' } as const; // never attached
  readonly sleep = systemClock.sleep;
  readonly sleepSync = systemClock.sleepSync;
  readonly #us = new Float64Array(1);

  now(): number {
    this.#us[0] = (this.#us[0] as number) + 1; // it has one element
    return this.#us[0];
  }
}

/**
 * In Node.js 20 the compiler usually keeps the pair returned by `process.hrtime()` off the heap.
 * Later versions do not (27 bytes per reading in Node.js 26), which is not the limiter's doing.
 */
function clockOf({ onSystemClock }: AllocatingJob): Clock {
  const isFree = onSystemClock && process.versions.node.startsWith('20.');
  return isFree ? systemClock : new CountingClock();
}

/** Creates only the limiter of this call: others would change how the call is compiled. */
function callOf(job: AllocatingJob): () => unknown {
  const clock = clockOf(job);
  const wide = { limit: 1e9, intervalMs: 1e9, clock };
  const narrow = { limit: 1, intervalMs: 1e9, clock };
  const bucket = () => TokenBucket.create({ rate: 4e9, burst: 1e9, clock });
  switch (job.call) {
    case 'tryConsume': {
      const limiter = bucket();
      return () => limiter.tryConsume();
    }
    case 'consumeOrDrain': {
      const limiter = bucket();
      return () => limiter.consumeOrDrain(2);
    }
    case 'acquire': {
      const limiter = bucket();
      return () => limiter.acquire(1, 0);
    }
    case 'a fixed window admits':
      return tries(FixedWindow.create(wide));
    case 'a fixed window refuses':
      return tries(FixedWindow.create(narrow));
    case 'a sliding window admits':
      return tries(SlidingWindow.create(wide));
    case 'a sliding window refuses':
      return tries(SlidingWindow.create(narrow));
    case 'a sliding log admits':
      return tries(SlidingLog.create({ limit: 1000, intervalMs: 0.001, clock }));
    case 'a sliding log refuses':
      return tries(SlidingLog.create(narrow));
    case 'a Sometimes counts': {
      const sometimes = Sometimes.create({ every: 10, intervalMs: 1, clock });
      return () => sometimes.isDue();
    }
    case 'a sampler drops':
      return drops(ConsistentRateLimitingSampler.create({ rate: 1, burst: 2, clock }));
    case 'a sampler with minima drops':
      return drops(
        ConsistentRateLimitingSampler.create({ rate: 1, burst: 2, minimum: 1e-6, clock }),
      );
    case 'an object': {
      let kept: unknown;
      return () => {
        kept = { allocated: kept !== undefined };
      };
    }
  }
}

function drops(sampler: ConsistentRateLimitingSampler): () => unknown {
  const lowest = `${'1'.repeat(18)}${'0'.repeat(14)}`;
  return () => sampler.shouldSample(ROOT_CONTEXT, lowest, 'GET /users');
}

function tries(limiter: Limiter): () => boolean {
  return () => limiter.tryConsume();
}

serve((job: AllocatingJob): number => {
  // A loop that has called many functions calls each as it was compiled by itself. Into a loop that
  // knows only one, as much of it is inlined as there is room for, and the rest passes its numbers
  // through the heap.
  for (let i = 0; i < 8; i++) grownBy(BATCH, new Function(`return ${i}`) as () => number);
  return bytesPerCall(job, callOf(job));
});
