/** One call of a task, as the task sees it. */
export interface TaskCall {
  /** The index of the thread, from 0. */
  readonly thread: number;
  /**
   * The number of the call, from 0. At a set rate no two calls of a run have the same one, whatever
   * their threads, and none is left out; those of a warm-up come first. With `rate: Infinity` each
   * thread counts its own calls.
   */
  readonly sequence: number;
  /**
   * When the call was due, in microseconds of `systemClock` of `zerotime`. With `rate: Infinity`
   * nothing is ever due: it is the start of the round.
   */
  readonly dueUs: number;
  /** Aborted when the call has timed out, and counts as failed whatever it does. */
  readonly signal: AbortSignal;
}

/** What {@link TaskModule.setup} gets, once in each thread. */
export interface TaskSetup<Data = unknown> {
  /** The index of the thread, from 0. */
  readonly thread: number;
  /** How many threads there are. */
  readonly threads: number;
  /** A copy of the option `data`. */
  readonly data: Data;
  /** Aborted when the last call of the thread has ended, before `teardown`. */
  readonly signal: AbortSignal;
}

/**
 * What a module exports to be driven: `default` is called at each due instant, and may be
 * synchronous. A call that throws or rejects has failed.
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
  /** Called at each due instant. */
  readonly default: (call: TaskCall) => unknown;
  /** Called once in each thread before any call, and awaited. */
  readonly setup?: (about: TaskSetup<Data>) => unknown;
  /** Called once in each thread after its last call, and awaited. */
  readonly teardown?: () => unknown;
}
