/** The argument of each call of a task. */
export interface TaskCall {
  /** The index of the thread, from 0. */
  readonly thread: number;
  /**
   * The number of the call, from 0. At a finite rate, all threads share one count, in which the
   * warm-up comes first: no number is repeated or skipped. With `rate: Infinity`, each thread
   * counts its own calls.
   */
  readonly sequence: number;
  /**
   * When the call was due, in microseconds of zerotime's `systemClock`. With `rate: Infinity`, the
   * start of the round.
   */
  readonly dueUs: number;
  /**
   * Aborted when the call times out (`TimeoutError`), or is still in flight a second after the run
   * was stopped (`AbortError`). The call then counts as failed, whatever its outcome.
   */
  readonly signal: AbortSignal;
}

/** A call in flight. Its signal is only created if the task reads it. */
export class CallInFlight implements TaskCall {
  readonly thread: number;
  sequence: number;
  dueUs: number;
  #controller: AbortController | undefined;
  #reason: unknown;

  constructor(thread: number, sequence = 0, dueUs = 0) {
    this.thread = thread;
    this.sequence = sequence;
    this.dueUs = dueUs;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      // The task may first read the signal after the timeout.
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Reuses the object for the next call, after one that was not aborted. */
  static begin(call: CallInFlight, sequence: number): void {
    call.sequence = sequence;
    if (call.#controller !== undefined) call.#controller = undefined;
  }

  /** Aborts the signal of a call. */
  static abort(call: CallInFlight, reason: Error): void {
    call.#reason = reason;
    call.#controller?.abort(reason);
  }
}

/** The argument of {@link TaskModule.setup}. */
export interface TaskSetup<Data = unknown> {
  /** The index of the thread, from 0. */
  readonly thread: number;
  /** Number of threads. */
  readonly threads: number;
  /** A copy of the option `data`. */
  readonly data: Data;
  /** Aborted after the thread's last call, before `teardown`. */
  readonly signal: AbortSignal;
}

/**
 * The exports of a task module. Only `default` is required.
 *
 * @example
 * ```ts
 * import type { TaskCall, TaskSetup } from 'zerotime/load';
 *
 * let rows: readonly string[] = [];
 * export function setup({ data }: TaskSetup<string[]>): void {
 *   rows = data;
 * }
 * export default async function ({ sequence, signal }: TaskCall): Promise<void> {
 *   const row = rows[sequence % rows.length];
 *   await fetch('http://localhost:8080/', { method: 'POST', body: row ?? '', signal });
 * }
 * ```
 */
export interface TaskModule<Data = unknown> {
  /** Called at each due instant. May be synchronous. A call that throws or rejects has failed. */
  readonly default: (call: TaskCall) => unknown;
  /** Called once in each thread before any call, and awaited. If it fails, `drive` rejects. */
  readonly setup?: (about: TaskSetup<Data>) => unknown;
  /** Called once in each thread after its last call, and awaited. */
  readonly teardown?: () => unknown;
}
