import type { TaskModule } from './task.ts';
import { reasonOf } from './task-module.ts';

/** Ends a task in one thread: aborts its signal, then calls `teardown`. */
export class TaskEnd {
  readonly #module: Pick<TaskModule, 'teardown'>;
  readonly #timeoutMs: number;
  readonly #controller = new AbortController();

  constructor(module: Pick<TaskModule, 'teardown'>, timeoutMs: number) {
    this.#module = module;
    this.#timeoutMs = timeoutMs;
  }

  /** Aborted when the task ends. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Rejects with a message for the user if `teardown` fails or times out. */
  async close(): Promise<void> {
    this.#controller.abort();
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<never>((_, reject) => {
      const error = new Error(`teardown took longer than ${this.#timeoutMs} ms`);
      timer = setTimeout(reject, this.#timeoutMs, error);
    });
    try {
      await Promise.race([this.#tearDown(), tooLong]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #tearDown(): Promise<void> {
    try {
      await this.#module.teardown?.();
    } catch (error) {
      throw new Error(`teardown failed: ${reasonOf(error)}`, { cause: error });
    }
  }
}
