import type { TaskCall } from './task.ts';

/** A call in flight. Its signal is only created if the task reads it. */
export class Call implements TaskCall {
  readonly thread: number;
  readonly sequence: number;
  readonly dueUs: number;
  readonly #startedUs: number;
  #controller: AbortController | undefined;
  #reason: unknown;

  constructor(thread: number, sequence: number, dueUs: number, startedUs: number) {
    this.thread = thread;
    this.sequence = sequence;
    this.dueUs = dueUs;
    this.#startedUs = startedUs;
  }

  /** The start of a call. */
  static startOf(call: Call): number {
    return call.#startedUs;
  }

  /** Aborts the signal of a call. */
  static abort(call: Call, reason: Error): void {
    call.#reason = reason;
    call.#controller?.abort(reason);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      // The task may first read the signal after the timeout.
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }
}
