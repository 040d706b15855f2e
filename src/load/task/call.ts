import type { TaskCall } from './task.ts';

/** A call in flight. Only a task that reads the signal pays for it. */
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

  /** When a call began. */
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
      // The task may look at it only after its time is over.
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }
}
