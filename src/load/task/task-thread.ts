import type { MessagePort } from 'node:worker_threads';
import { TokenBucket } from '../../limiters/token-bucket.ts';
import type { Failure } from '../measure/errors.ts';
import { Tally } from '../measure/tally.ts';
import type { Abandon, Carrier, Carriers, Exchange } from '../send/carrier.ts';
import { QueuedWork } from '../send/queued-work.ts';
import type { TaskThreadData } from '../threads/messages.ts';
import { ThreadService } from '../threads/thread-service.ts';
import { CallInFlight, type TaskModule } from './task.ts';
import { failureOf, isThenable, onThreadEnd, openTask } from './task-module.ts';

/** Runs a thread that calls a task at a rate. */
export function runTaskThread(port: MessagePort, { task, counter, ...data }: TaskThreadData): void {
  const { thread, concurrency } = task;
  const service = new ThreadService(port, {
    data,
    open: async () => {
      await rehearseCalls();
      const { call, close } = await openTask(task, data.timeoutMs);
      const nextSequence = () => Number(Atomics.add(counter, 0, 1n));
      return new TaskCalls({ task: call, thread, concurrency, nextSequence, onClose: close });
    },
  });
  void service.done.then(onThreadEnd((failure) => service.abandon(failure)));
}

export interface TaskCallsOptions {
  readonly task: TaskModule['default'];
  /** The index of the thread. */
  readonly thread: number;
  /** Maximum number of calls in flight. */
  readonly concurrency: number;
  /** Returns the number of the next call. */
  readonly nextSequence: () => number;
  /** Called when the last call has ended. A rejection goes into the result. */
  readonly onClose: () => Promise<void>;
}

/** The calls of a task in one thread, with a limited number of them in flight. */
export class TaskCalls implements Carriers, Carrier {
  readonly noRoom = 'its thread had no room for it until the end of the run';
  readonly tooLong = 'the call took longer than';
  readonly mayBlock = true;
  readonly #options: TaskCallsOptions;
  #inFlight = 0;

  constructor(options: TaskCallsOptions) {
    this.#options = options;
  }

  get capacity(): number {
    return this.#options.concurrency;
  }

  take(): this | undefined {
    if (this.#inFlight >= this.#options.concurrency) return undefined;
    this.#inFlight += 1;
    return this;
  }

  give(): void {
    this.#inFlight -= 1;
  }

  close(): Promise<void> {
    return this.#options.onClose();
  }

  dispatch({ dueUs, end }: Exchange): Abandon | undefined {
    const { task, thread, nextSequence } = this.#options;
    const call = new CallInFlight(thread, nextSequence(), dueUs);
    let failure: Failure | undefined;
    try {
      const result = task(call);
      if (isThenable(result)) {
        const fail = (error: unknown) => end(failureOf(error));
        Promise.resolve(result).then(() => end(undefined), fail);
        return (why) => CallInFlight.abort(call, why);
      }
    } catch (error) {
      failure = failureOf(error);
    }
    end(failure);
    return undefined;
  }
}

/** Enough to compile all code of a call. */
const CALLS = 3_000;
/** Calls started per turn of the event loop. */
const A_TURN = 100;

/**
 * Makes empty calls that count nowhere until our own code is compiled. Otherwise the task's first
 * calls would be late.
 */
async function rehearseCalls(): Promise<void> {
  const bucket = TokenBucket.create({ rate: 1e6, burst: 1 });
  const now = () => bucket.clock.now();
  const tally = new Tally();
  let made = 0;
  const calls = new TaskCalls({
    task: ({ sequence }) => (sequence % 2 === 0 ? undefined : Promise.resolve()),
    thread: 0,
    concurrency: A_TURN,
    nextSequence: () => made++,
    onClose: () => Promise.resolve(),
  });
  const work = new QueuedWork(
    { timeoutMs: 1_000, tallyOf: () => tally, now, onIdle: () => undefined, isOver: () => false },
    calls,
  );
  while (made < CALLS) {
    for (let i = 0; i < A_TURN; i++) {
      bucket.reserve();
      work.send(now(), now());
    }
    await new Promise(setImmediate);
  }
  await work.close();
}
