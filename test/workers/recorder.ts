import {
  attach,
  type LimiterHandle,
  LimitSet,
  ManualClock,
  type Permit,
  type Reservation,
  Semaphore,
  TokenBucket,
} from '../../src/index.ts';
import { LATER } from '../../src/kernel/bucket/kernel.ts';
import { type Operation, operations, type Subject } from '../explorer/subject.ts';
import { handleFor, type KernelMix } from '../support/kernels.ts';
import type { Recorded } from '../support/linearization.ts';
import { Random } from '../support/random.ts';
import { serve } from '../support/serve.ts';
import type { AnyWindow } from '../support/window-kinds.ts';

/** Makes a few calls on each of many limiters, together with other threads, and records them. */
export interface RecordJob {
  readonly kernels: KernelMix;
  readonly histories: readonly {
    readonly handle: LimiterHandle;
    /** The operations of each thread, as the references of the explorer name them, and `advance`. */
    readonly calls: readonly (readonly Operation[])[];
  }[];
  /** An Int32, which orders the calls. */
  readonly tickets: SharedArrayBuffer;
  readonly seed: number;
}

/** How long a thread may sleep between a clock reading and the access to the word. */
const STALLS_MS = [0, 0, 0.02, 0.1] as const;

/** Answers that there is nothing to cancel or release: that is no call. */
const NONE = Symbol('no call');

function tokenCalls(bucket: TokenBucket | LimitSet): Subject {
  let latest: Reservation | undefined;
  return operations({
    take: (n = 0) => bucket.tryConsume(n),
    acquire(n = 0, maxWaitUs = 0) {
      const reservation = bucket.reserve(n, { maxWaitMs: maxWaitUs / 1000 });
      latest = reservation ?? latest;
      return reservation === undefined ? LATER : reservation.waitMs * 1000;
    },
    cancel() {
      const cancelled = latest?.putBack() ?? NONE;
      latest = undefined;
      return cancelled;
    },
    drain: (n = 0) => bucket.consumeOrDrain(n),
    refund: (n = 0) => bucket.returnTokens(n),
    charge: (n = 0) => bucket.charge(n) * 1000,
    balance: () => bucket.balance(),
    decide(n = 0) {
      const { allowed, remaining } = bucket.decide(n);
      return [allowed, remaining];
    },
    reconfigure(limit = 0, rate = 0, burst = 0) {
      if (bucket instanceof TokenBucket) return bucket.reconfigure({ rate, burst });
      const limits = bucket.limits.map((_, i) => (i === limit ? { rate, burst } : {}));
      return bucket.reconfigure({ limits });
    },
  });
}

function windowCalls(window: AnyWindow): Subject {
  return operations({
    take: (n = 0) => window.tryConsume(n),
    drain: (n = 0) => window.consumeOrDrain(n),
    available: () => window.available(),
    decide(n = 0) {
      const { allowed, remaining } = window.decide(n);
      return [allowed, remaining];
    },
    reconfigure: (limit = 0) => window.reconfigure({ limit }),
  });
}

/** The latest permit counts as taken while it is held. */
function permitCalls(semaphore: Semaphore): Subject {
  let latest: Permit | undefined;
  return operations({
    take(n = 1) {
      latest = semaphore.tryAcquire(n) ?? latest;
      return latest !== undefined;
    },
    release() {
      if (latest === undefined) return NONE;
      latest.release();
      latest = undefined;
      return true;
    },
    change: (permits = 0) => semaphore.reconfigure({ permits }),
    available: () => semaphore.available(),
    'in use': () => semaphore.inUse(),
  });
}

serve((job: RecordJob, me, meet): Recorded[][] => {
  const tickets = new Int32Array(job.tickets);
  const asleep = new Int32Array(new SharedArrayBuffer(4));
  const random = new Random(job.seed + me);
  return job.histories.map(({ handle, calls }) => {
    const limiter = attach(
      handleFor(handle, job.kernels, me) as LimiterHandle<
        'token-bucket' | 'limit-set' | 'fixed-window' | 'semaphore'
      >,
    );
    const subject =
      limiter instanceof Semaphore
        ? permitCalls(limiter)
        : limiter instanceof TokenBucket || limiter instanceof LimitSet
          ? tokenCalls(limiter)
          : windowCalls(limiter as AnyWindow);
    const clock = ManualClock.attach(handle.clock);
    const now = limiter.clock.now.bind(limiter.clock);
    let nowUs = now();
    limiter.clock.now = () => {
      nowUs = now();
      // Simulates losing the processor here.
      Atomics.wait(asleep, 0, 0, random.pick(STALLS_MS));
      return nowUs;
    };
    const recorded: Recorded[] = [];
    meet();
    for (const operation of calls[me] ?? []) {
      const [name, ms = 0] = operation;
      if (name === 'advance') {
        clock.advance(ms);
        continue;
      }
      const invoked = Atomics.add(tickets, 0, 1);
      const answer = subject.run(operation) ?? null;
      const returned = Atomics.add(tickets, 0, 1);
      if (answer === NONE) continue;
      recorded.push({ thread: me, operation, nowUs, answer, invoked, returned });
    }
    return recorded;
  });
});
