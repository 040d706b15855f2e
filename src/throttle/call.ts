import type { Timed } from '../time/heap.ts';
import type { Queued } from './fair-queue.ts';
import type { Flow } from './level.ts';
import type { Signal } from './signals.ts';

/** How a dispatcher handles its calls. */
export interface Work<Job> {
  /** Does the work of a call. */
  start(job: Job): unknown;
  /** Called before a call waits. */
  onDelay?(job: Job): void;
  /** Returns the result of an aborted call. By default it rejects with the reason. */
  aborted?(job: Job, reason: unknown): unknown;
}

/** A call. A heap orders calls by deadline. Kept small, because many may wait. */
export interface Call<Job> extends Timed, Queued<Call<Job>> {
  readonly job: Job;
  readonly signal: Signal | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (reason: unknown) => void;
  flow: Flow<Call<Job>> | undefined;
  /** Removes the listener from its signal. */
  unlink: (() => void) | undefined;
}

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
  return { job, signal, resolve, reject, sinceUs, atUs, place: -1, order: 0, ...unqueued };
}
