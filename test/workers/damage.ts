import {
  attach,
  LeakyBucket,
  type LimiterHandle,
  RateLimitError,
  Region,
  type RegionHandle,
  TokenBucket,
} from '../../src/index.ts';
import { damaged, scribble as scribbleOver } from '../support/damage.ts';
import { Random } from '../support/random.ts';
import { Attempts } from '../support/random-call.ts';
import { serveOneOf } from '../support/serve.ts';

// Jobs of threads that fill memory, or damage it and use what is left.

/** The offsets of the created buckets, and the code of the final error. */
interface Allocated {
  readonly offsets: readonly number[];
  readonly code: string;
}

/** Creates buckets in a region until it is full, together with other threads. */
function fill(handle: RegionHandle, _: number, meet: () => void): Allocated {
  const region = Region.attach(handle);
  const offsets: number[] = [];
  meet();
  for (;;) {
    try {
      const bucket = TokenBucket.create({ rate: 1, burst: 5, region });
      if (bucket.consumeOrDrain(9) !== 5) throw new Error('another bucket lies in the same place');
      offsets.push(bucket.handle.offset);
    } catch (error) {
      if (error instanceof RateLimitError) return { offsets, code: error.code };
      throw error;
    }
  }
}

interface FuzzJob {
  /** One Int32 per thread: the number of its current case. */
  readonly progress: SharedArrayBuffer;
  readonly cases: number;
  readonly seed: number;
}

interface Fuzzed {
  readonly attached: number;
  /** How often each documented error was thrown. */
  readonly thrown: Readonly<Record<string, number>>;
  /** Cases with any other outcome. */
  readonly failures: readonly string[];
}

/** Attaches damaged handles and calls the resulting limiters. */
function fuzz({ progress, cases, seed }: FuzzJob, me: number): Fuzzed {
  const at = new Int32Array(progress);
  const attempts = new Attempts();
  let attached = 0;
  for (let i = 0; i < cases && attempts.failures.length < 10; i++) {
    const random = new Random(seed + i);
    const { handle, scribble, others } = damaged(random);
    const before = others?.();
    const given = handle as unknown as LimiterHandle<'token-bucket'>;
    const bucket = attempts.make(`case ${i} of ${seed}, attach`, () => {
      const how = random.below(3);
      return how === 0
        ? TokenBucket.attach(given)
        : how === 1
          ? LeakyBucket.attach(handle as unknown as LimiterHandle<'leaky-bucket'>)
          : attach(given);
    });
    if (bucket !== undefined) attached++;
    for (let calls = 0; bucket !== undefined && calls < 8; calls++) {
      attempts.call(`case ${i} of ${seed}, call ${calls}`, random, bucket);
      if (random.below(2) === 0) scribble();
    }
    if (before !== undefined && others?.().equals(before) === false) {
      attempts.failures.push(`case ${i} of ${seed}: wrote outside of its limiter`);
    }
    Atomics.store(at, me, i + 1);
    if (i % 100 === 0) Atomics.notify(at, me);
  }
  return { attached, thrown: attempts.thrown, failures: attempts.failures };
}

interface ScribbleJob {
  readonly handle: LimiterHandle;
  readonly bytes: SharedArrayBuffer;
  /** The number of bytes to overwrite: all that are in use. */
  readonly used: number;
  /** Int32s: number of calls; whether they are over; number of overwrites. */
  readonly progress: SharedArrayBuffer;
  /** Minimum number of calls and of overwrites. */
  readonly least: number;
  readonly seed: number;
}

interface Scribbled {
  readonly calls: number;
  readonly thrown: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
}

/** After this many calls the other thread is unlikely to run at all. */
const MOST = 50_000_000;
/** The fixed fields of a limiter are within these bytes. */
const HEADER_BYTES = 128;
/** Re-attaches this often, because attaching reads fields that calls don't. */
const CALLS_AN_ATTACHMENT = 500;

/**
 * Thread 0 calls a limiter while the other thread overwrites its memory, and sometimes restores it.
 */
function scribble(job: ScribbleJob, me: number): Scribbled {
  const { handle, bytes, used, progress, least, seed } = job;
  const at = new Int32Array(progress);
  const random = new Random(seed + me);
  const attempts = new Attempts();
  let calls = 0;
  if (me === 0) {
    const own = handle as LimiterHandle<'token-bucket'>;
    let limiter = attach(own);
    Atomics.store(at, 0, 1);
    const unharmed = () => attempts.thrown['ERR_REGION_DAMAGED'] === undefined;
    while (calls < least || ((Atomics.load(at, 2) < least || unharmed()) && calls < MOST)) {
      if (calls % CALLS_AN_ATTACHMENT === 0) {
        limiter = attempts.make(`attachment ${calls} of ${seed}`, () => attach(own)) ?? limiter;
      }
      attempts.call(`call ${calls} of ${seed}`, random, limiter);
      calls++;
      Atomics.store(at, 0, calls);
      if (calls % 100 === 0) Atomics.notify(at, 0);
      if (attempts.failures.length > 10) break;
    }
    Atomics.store(at, 1, 1);
  } else {
    const header = handle.offset + HEADER_BYTES;
    const pristine = new Uint8Array(bytes, 0, used).slice();
    // The other thread attaches before the memory is damaged.
    while (Atomics.load(at, 0) === 0) Atomics.wait(at, 0, 0, 1);
    while (Atomics.load(at, 1) === 0) {
      // Half of it over the bytes that attaching reads, a small part of a large limiter.
      scribbleOver(random, bytes, 0, random.below(2) === 0 ? used : Math.min(used, header));
      Atomics.add(at, 2, 1);
      if (random.below(3) === 0) new Uint8Array(bytes).set(pristine);
    }
  }
  return { calls, thrown: attempts.thrown, failures: attempts.failures };
}

export const JOBS = { fill, fuzz, scribble };
serveOneOf(JOBS);
