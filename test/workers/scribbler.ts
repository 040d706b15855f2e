import { attach, type LimiterHandle } from '../../src/index.ts';
import { scribble } from '../support/damage.ts';
import { Random } from '../support/random.ts';
import { type AnyLimiter, Attempts } from '../support/random-call.ts';
import { serve } from '../support/serve.ts';

/**
 * Thread 0 calls a limiter while the other thread overwrites its memory, and sometimes restores it.
 */
export interface ScribbleJob {
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

export interface Scribbled {
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

function attached(handle: LimiterHandle): AnyLimiter {
  return attach(handle as LimiterHandle<'token-bucket'>);
}

serve(({ handle, bytes, used, progress, least, seed }: ScribbleJob, me): Scribbled => {
  const at = new Int32Array(progress);
  const random = new Random(seed + me);
  const attempts = new Attempts();
  let calls = 0;
  if (me === 0) {
    let limiter = attached(handle);
    Atomics.store(at, 0, 1);
    const unharmed = () => attempts.thrown['ERR_REGION_DAMAGED'] === undefined;
    while (calls < least || ((Atomics.load(at, 2) < least || unharmed()) && calls < MOST)) {
      if (calls % CALLS_AN_ATTACHMENT === 0) {
        limiter =
          attempts.make(`attachment ${calls} of ${seed}`, () => attached(handle)) ?? limiter;
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
      scribble(random, bytes, 0, random.below(2) === 0 ? used : Math.min(used, header));
      Atomics.add(at, 2, 1);
      if (random.below(3) === 0) new Uint8Array(bytes).set(pristine);
    }
  }
  return { calls, thrown: attempts.thrown, failures: attempts.failures };
});
