import type { TaskCall } from '../task/task.ts';

/** The calls of one lane, one after the other: one object for all of them. */
export class LoopCall implements TaskCall {
  readonly thread: number;
  /** The start of the round. */
  dueUs = 0;
  sequence = 0;
  #controller: AbortController | undefined;

  constructor(thread: number) {
    this.thread = thread;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  /** Begins the next call of a lane. */
  static begin(call: LoopCall, sequence: number): void {
    call.sequence = sequence;
    if (call.#controller !== undefined) call.#controller = undefined;
  }

  /** Aborts the signal of a lane's call. */
  static abort(call: LoopCall, reason: Error): void {
    call.#controller?.abort(reason);
  }
}
