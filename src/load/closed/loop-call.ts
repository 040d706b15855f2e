import type { TaskCall } from '../task/task.ts';

/** The object passed to all calls of one lane in turn. */
export class LoopCall implements TaskCall {
  readonly thread: number;
  /** Start of the round. */
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

  /** Starts the next call of a lane. */
  static begin(call: LoopCall, sequence: number): void {
    call.sequence = sequence;
    if (call.#controller !== undefined) call.#controller = undefined;
  }

  /** Aborts the signal of a lane's call. */
  static abort(call: LoopCall, reason: Error): void {
    call.#controller?.abort(reason);
  }
}
