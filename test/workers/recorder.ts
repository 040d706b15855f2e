import { attach, type LimiterHandle, ManualClock, Semaphore } from '../../src/index.ts';
import { handleFor, type KernelMix } from '../support/kernels.ts';
import type { Operation } from '../support/linearization.ts';
import { Random } from '../support/random.ts';
import { Caller, PermitCaller, type RecordedCall } from '../support/recorded-calls.ts';
import { serve } from '../support/serve.ts';

/** Makes a few calls on each of many limiters, together with other threads, and records them. */
export interface RecordJob {
  readonly kernels: KernelMix;
  readonly threads: number;
  readonly histories: readonly {
    readonly handle: LimiterHandle;
    /** The calls of each thread. */
    readonly calls: readonly (readonly RecordedCall[])[];
  }[];
  /** Int32s: arrivals, tickets. */
  readonly shared: SharedArrayBuffer;
  readonly seed: number;
}

const ARRIVALS = 0;
const TICKETS = 1;
/** Polls before the thread blocks until the others arrive. */
const LOOKS = 20_000;
/** How long a thread may sleep between a clock reading and the access to the word. */
const STALLS_MS = [0, 0, 0.02, 0.1] as const;

function meet(shared: Int32Array, arrivals: number): void {
  Atomics.add(shared, ARRIVALS, 1);
  Atomics.notify(shared, ARRIVALS);
  for (let looks = 0; ; looks++) {
    const seen = Atomics.load(shared, ARRIVALS);
    if (seen >= arrivals) return;
    if (looks > LOOKS) Atomics.wait(shared, ARRIVALS, seen);
  }
}

serve((job: RecordJob, me): Operation<RecordedCall>[][] => {
  const shared = new Int32Array(job.shared);
  const asleep = new Int32Array(new SharedArrayBuffer(4));
  const random = new Random(job.seed + me);
  return job.histories.map(({ handle, calls }, history) => {
    const limiter = attach(
      handleFor(handle, job.kernels, me) as LimiterHandle<'token-bucket' | 'semaphore'>,
    );
    const caller = limiter instanceof Semaphore ? new PermitCaller(limiter) : new Caller(limiter);
    const clock = ManualClock.attach(handle.clock);
    const now = limiter.clock.now.bind(limiter.clock);
    let nowUs = now();
    limiter.clock.now = () => {
      nowUs = now();
      // Simulates losing the processor here.
      Atomics.wait(asleep, 0, 0, random.pick(STALLS_MS));
      return nowUs;
    };
    const operations: Operation<RecordedCall>[] = [];
    meet(shared, job.threads * (history + 1));
    for (const call of calls[me] ?? []) {
      if (call.call === 'advance') {
        clock.advance(call.ms);
        continue;
      }
      const invoked = Atomics.add(shared, TICKETS, 1);
      const answer = caller.make(call);
      const returned = Atomics.add(shared, TICKETS, 1);
      operations.push({ thread: me, call, nowUs, answer, invoked, returned });
    }
    return operations;
  });
});
