import type { TaskCall } from './task.ts';

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
