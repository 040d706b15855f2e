import { Heap } from '../time/heap.ts';
import type { Call } from './call.ts';
import { FairQueue } from './fair-queue.ts';
import type { Key } from './level.ts';
import { onEitherAbort } from './signals.ts';

/** The waiting calls in the order in which they start, with their deadlines and signals. */
export class WaitingCalls<Job> {
  readonly #queue: FairQueue<Call<Job>>;
  readonly #deadlines = new Heap<Call<Job>>();

  constructor(weightOf: (key: Key) => number) {
    this.#queue = new FairQueue(weightOf);
  }

  get length(): number {
    return this.#queue.length;
  }

  /** The call that starts last, if that is certain. */
  get last(): Call<Job> | undefined {
    return this.#queue.last;
  }

  /** When the longest waiting call was made; undefined if none waits. */
  get oldestUs(): number | undefined {
    return this.#queue.oldestUs;
  }

  /** The earliest deadline. */
  get deadlineUs(): number | undefined {
    return this.#deadlines.first?.atUs;
  }

  add(
    call: Call<Job>,
    priority: number,
    key: Key,
    onAbort: (call: Call<Job>, reason: unknown) => void,
  ): void {
    this.#queue.add(call, priority, key);
    if (call.atUs < Number.POSITIVE_INFINITY) this.#deadlines.add(call);
    if (call.signal === undefined) return;
    call.unlink = onEitherAbort(call.signal, (reason) => {
      if (this.remove(call)) onAbort(call, reason);
    });
  }

  /** Removes the next call to start. */
  take(): Call<Job> | undefined {
    const call = this.#queue.take();
    if (call !== undefined) this.#forget(call);
    return call;
  }

  /** Removes all calls in that order, including calls added meanwhile. */
  *takeAll(): Generator<Call<Job>> {
    for (let call = this.take(); call !== undefined; call = this.take()) yield call;
  }

  /** Removes a call whose deadline has passed. */
  takeLate(nowUs: number): Call<Job> | undefined {
    const call = this.#deadlines.first;
    if (call === undefined || call.atUs > nowUs) return undefined;
    this.remove(call);
    return call;
  }

  /** Removes a call; false if it no longer waits. */
  remove(call: Call<Job>): boolean {
    const isRemoved = this.#queue.remove(call);
    if (isRemoved) this.#forget(call);
    return isRemoved;
  }

  #forget(call: Call<Job>): void {
    this.#deadlines.remove(call);
    call.unlink?.();
    call.unlink = undefined;
  }
}
