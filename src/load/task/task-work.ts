import { type Queued, QueuedWork, type QueuedWorkOptions } from '../send/queued-work.ts';
import type { OpenHooks } from '../threads/thread-service.ts';
import { CallInFlight, type TaskModule } from './task.ts';
import { type Failure, failureOf } from './task-module.ts';

/** A call, and when it started. */
interface StartedCall {
  readonly call: CallInFlight;
  readonly dueUs: number;
  readonly startedUs: number;
}

export interface TaskWorkOptions extends OpenHooks, QueuedWorkOptions {
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

/** A call that blocks its thread this long counts as blocked. */
const BLOCKED_US = 100_000;

/** Calls a task with a limited number of calls in flight. */
export class TaskWork extends QueuedWork<StartedCall, true> {
  readonly #options: TaskWorkOptions;
  protected readonly noRoom = 'its thread had no room for it until the end of the run';

  constructor(options: TaskWorkOptions) {
    super(options);
    this.#options = options;
  }

  get capacity(): number {
    return this.#options.concurrency;
  }

  override async close(): Promise<void> {
    super.close();
    await this.#options.onClose();
  }

  protected get tooLong(): string {
    return `the call took longer than ${this.#options.timeoutMs} ms`;
  }

  protected room(): true | undefined {
    return this.inFlight < this.#options.concurrency || undefined;
  }

  protected start(queued: Queued): void {
    const { task, thread, nextSequence, now, isOver } = this.#options;
    const { dueUs } = queued;
    const startedUs = now();
    if (isOver(startedUs)) {
      this.drop(queued, startedUs);
      return;
    }
    const one = { call: new CallInFlight(thread, nextSequence(), dueUs), dueUs, startedUs };
    let ended: Promise<unknown> | undefined;
    let failure: Failure | undefined;
    // Count it first: the call may end the thread, and must still be in the results.
    const tally = this.begin(one, queued);
    try {
      const result = task(one.call);
      if (isThenable(result)) ended = Promise.resolve(result);
    } catch (error) {
      failure = failureOf(error);
    }
    const returnedUs = now();
    if (returnedUs - startedUs >= BLOCKED_US) tally.countBlocked(returnedUs - startedUs);
    if (ended === undefined) {
      this.leave(one);
      this.#count(one, returnedUs, failure);
      return;
    }
    ended.then(
      () => this.#settle(one),
      (error: unknown) => this.#settle(one, failureOf(error)),
    );
  }

  protected cancel({ call }: StartedCall, why: DOMException): void {
    CallInFlight.abort(call, why);
  }

  #settle(one: StartedCall, failure?: Failure): void {
    // The call has timed out, or the thread is about to end.
    if (!this.leave(one)) return;
    this.#count(one, this.#options.now(), failure);
    this.pump();
    this.tellIdle();
  }

  /** Counts a finished call. One that took longer than the timeout has failed, whatever its outcome. */
  #count(one: StartedCall, nowUs: number, failure: Failure | undefined): void {
    const { tallyOf, timeoutMs } = this.#options;
    const { dueUs, startedUs } = one;
    const tally = tallyOf(dueUs);
    if (nowUs - startedUs >= timeoutMs * 1_000) tally.countError('timed out', this.tooLong, dueUs);
    else if (failure === undefined) tally.counters.succeeded += 1;
    else tally.countError(failure.kind, failure.example, dueUs);
    this.recordTimes(one, nowUs);
  }
}

/** Whether a returned value must be awaited. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}
