import { attach, type LimiterHandle } from '../../src/index.ts';
import { scribble } from '../support/damage.ts';
import { Random } from '../support/random.ts';
import { Attempts } from '../support/random-call.ts';
import { serve } from '../support/serve.ts';

/** Thread 0 makes calls on a limiter while the other one writes nonsense over it, and mends it. */
export interface ScribbleJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  readonly bytes: SharedArrayBuffer;
  /** Int32s: calls made; whether they are over; scribbles. */
  readonly progress: SharedArrayBuffer;
  /** How many calls and scribbles there are to be, at least. */
  readonly least: number;
  readonly seed: number;
}

export interface Scribbled {
  readonly thrown: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
}

/** Calls after which it is hopeless that the other thread gets to run. */
const MOST = 50_000_000;

serve(({ handle, bytes, progress, least, seed }: ScribbleJob, me): Scribbled => {
  const at = new Int32Array(progress);
  const random = new Random(seed + me);
  const attempts = new Attempts();
  if (me === 0) {
    const bucket = attach(handle);
    const unharmed = () => attempts.thrown['ERR_REGION_DAMAGED'] === undefined;
    for (let i = 0; i < least || ((Atomics.load(at, 2) < least || unharmed()) && i < MOST); i++) {
      attempts.call(`call ${i} of ${seed}`, random, bucket);
      Atomics.store(at, 0, i + 1);
      if (i % 100 === 0) Atomics.notify(at, 0);
    }
    Atomics.store(at, 1, 1);
  } else {
    const pristine = new Uint8Array(bytes).slice();
    while (Atomics.load(at, 1) === 0) {
      scribble(random, bytes, 0, bytes.byteLength);
      Atomics.add(at, 2, 1);
      if (random.below(3) === 0) new Uint8Array(bytes).set(pristine);
    }
  }
  return { thrown: attempts.thrown, failures: attempts.failures };
});
