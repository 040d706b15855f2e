import { ManualClock, TokenBucket } from '../src/index.ts';
import { randomNumbers } from '../src/load/plan/random.ts';
import { parsePattern } from '../src/simulate/patterns.ts';

/** What threads ask of a limit, or of equal parts of it. */
export interface Traffic {
  /** As `zerotime simulate --pattern` takes it. */
  readonly pattern: string;
  /** Tokens per second, of all threads together. */
  readonly rate: number;
  readonly burst: number;
  readonly durationMs: number;
  readonly seed: number;
}

/** How long requests wait for their token, in milliseconds. */
export interface Waits {
  readonly mean: number;
  readonly p99: number;
}

/**
 * Sends each request to a random thread, and lets it wait for a token of its thread's bucket. The
 * limit is split into `parts` equal buckets; with 1, all threads share one. Needs no threads: time
 * is simulated, and the buckets are the library's.
 */
export function waitsOf({ pattern, rate, burst, durationMs, seed }: Traffic, parts: number): Waits {
  const clock = ManualClock.create();
  const buckets: readonly TokenBucket[] = Array.from({ length: parts }, () =>
    TokenBucket.create({ rate: rate / parts, burst: burst / parts, clock }),
  );
  const threadOf = randomNumbers(seed + 1);
  const waitedMs: number[] = [];
  for (const batch of parsePattern(pattern).arrivals(durationMs * 1000, randomNumbers(seed))) {
    for (const atUs of batch) {
      clock.set(atUs / 1000);
      // Random numbers are above 0, and may be 1.
      const bucket = buckets[Math.ceil(threadOf() * parts) - 1];
      waitedMs.push(bucket?.reserve()?.waitMs ?? Number.NaN);
    }
  }
  waitedMs.sort((a, b) => a - b);
  return {
    mean: waitedMs.reduce((sum, ms) => sum + ms, 0) / waitedMs.length,
    p99: waitedMs[Math.floor(waitedMs.length * 0.99)] ?? Number.NaN,
  };
}
