import { RateLimitError } from '../errors.ts';
import { shown } from '../options.ts';
import type { Timed } from '../time/heap.ts';
import { type Abortable, onAbort } from '../time/on-abort.ts';
import type { Flow, Queued } from './fair-queue.ts';

/** The number of calls in each state. Each call is in exactly one. */
export interface ThrottleStats {
  /** Calls waiting to start. */
  readonly waiting: number;
  /** Calls in flight: started and not finished. */
  readonly running: number;
  /** Calls that returned. */
  readonly completed: number;
  /**
   * Calls that failed or were aborted while running, that the limiter can never admit, or whose
   * priority, key or signal is invalid.
   */
  readonly failed: number;
  /** Calls refused because the queue was full or closed. */
  readonly refused: number;
  /** Calls that did not start within `timeoutMs`. */
  readonly timedOut: number;
  /** Calls aborted before they started, or still waiting when their pool ended. */
  readonly aborted: number;
}

/** The final state of a call. */
export type Outcome = Exclude<keyof ThrottleStats, 'waiting' | 'running'>;

/** The error of a call that cannot start because of a close. */
export function throttleClosed(): RateLimitError {
  return new RateLimitError('ERR_THROTTLE_CLOSED', 'closed before the call could start');
}

const OUTCOMES: Partial<Record<RateLimitError['code'], Outcome>> = {
  ERR_QUEUE_FULL: 'refused',
  ERR_THROTTLE_CLOSED: 'refused',
  ERR_RATE_LIMIT_TIMEOUT: 'timedOut',
};

/** The outcome of a call that cannot start, by the error. */
export function outcomeOf(error: unknown): Outcome {
  return (error instanceof RateLimitError && OUTCOMES[error.code]) || 'failed';
}

interface Emitter {
  once(type: 'abort', listener: () => void): unknown;
  off(type: 'abort', listener: () => void): unknown;
}

/** An AbortSignal, or an EventEmitter, which pools accept too. */
export type Signal = Abortable | Emitter;

/** Returns `[reason]` if the signal has aborted. */
export function abortOf(signal: Signal): readonly [unknown] | undefined {
  return 'aborted' in signal && signal.aborted ? [signal.reason] : undefined;
}

/** Calls `listener` when the signal aborts. The returned function removes the listener. */
export function onEitherAbort(signal: Signal, listener: (reason: unknown) => void): () => void {
  if ('addEventListener' in signal) return onAbort(signal, listener);
  const aborted = () => listener(undefined);
  signal.once('abort', aborted);
  return () => signal.off('abort', aborted);
}

/** Returns an AbortSignal or undefined; otherwise throws. */
export function checkSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined) return signal;
  const methods = [signal?.throwIfAborted, signal?.addEventListener];
  if (methods.every((method) => typeof method === 'function')) return signal;
  throw new TypeError(`signal must be an AbortSignal, got ${shown(signal)}`);
}

/** How a dispatcher handles its calls. */
export interface Work<Job> {
  /** Does the work of a call. */
  start(job: Job): unknown;
  signalOf(job: Job): Signal | undefined;
  /** Returns the result of an aborted call. By default it rejects with the reason. */
  aborted?(job: Job, reason: unknown): unknown;
}

/** A call. A heap orders calls by deadline. Kept small, because many may wait. */
export interface Call<Job> extends Timed, Queued<Call<Job>> {
  readonly job: Job;
  readonly signal: Signal | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** Does the work of a call that waits, in the async context of its caller. */
  start: (() => Promise<unknown>) | undefined;
  flow: Flow<Call<Job>> | undefined;
  /** Removes the listener from its signal. */
  unlink: (() => void) | undefined;
}

/** What ends a call. */
type Ending<Job> = Pick<Call<Job>, 'job' | 'resolve' | 'reject'>;

/** Creates a call that came at an instant and may wait `timeoutMs`. */
export function newCall<Job>(
  job: Job,
  signal: Signal | undefined,
  settle: Pick<Call<Job>, 'resolve' | 'reject'>,
  sinceUs: number,
  timeoutMs: number,
): Call<Job> {
  const { resolve, reject } = settle;
  const atUs = sinceUs + timeoutMs * 1000;
  const unqueued = { flow: undefined, ahead: undefined, behind: undefined, unlink: undefined };
  const start = undefined;
  return { job, signal, resolve, reject, start, sinceUs, atUs, place: -1, order: 0, ...unqueued };
}

/**
 * Returns a function that calls `start` in the async context of now, as a promise does its
 * callbacks. Otherwise a call would see the `AsyncLocalStorage` of the one whose end let it start.
 */
export function inContext(start: () => unknown): () => Promise<unknown> {
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const result = begun.then(start);
  return () => {
    begin();
    return result;
  };
}

/** Runs calls, and counts all calls by their outcomes. */
export class Runner<Job> {
  readonly #work: Work<Job>;
  #running = 0;
  readonly #ended: Record<Outcome, number> = {
    completed: 0,
    failed: 0,
    refused: 0,
    timedOut: 0,
    aborted: 0,
  };

  constructor(work: Work<Job>) {
    this.#work = work;
  }

  get running(): number {
    return this.#running;
  }

  stats(waiting: number): ThrottleStats {
    return { waiting, running: this.#running, ...this.#ended };
  }

  /** Calls the function at once. The call settles as the function does, unless `finish` throws. */
  async run(
    { job, resolve, reject, start }: Call<Job>,
    finish: (error: readonly [unknown] | undefined) => void,
  ): Promise<void> {
    this.#running++;
    let error: readonly [unknown] | undefined;
    let result: unknown;
    try {
      result = await (start === undefined ? this.#work.start(job) : start());
    } catch (reason) {
      error = [reason];
    }
    this.#running--;
    try {
      finish(error);
    } catch (reason) {
      // The function's own error matters more.
      error ??= [reason];
    }
    this.#ended[error === undefined ? 'completed' : 'failed']++;
    if (error === undefined) resolve(result);
    else reject(error[0]);
  }

  /** Ends a call that does not start. */
  end({ job, resolve, reject }: Ending<Job>, reason: unknown, outcome: Outcome): void {
    this.#ended[outcome]++;
    if (outcome !== 'aborted' || this.#work.aborted === undefined) reject(reason);
    else resolve(this.#work.aborted(job, reason));
  }
}
