import { Heap } from '../time/heap.ts';
import { type Call, onEitherAbort } from './call.ts';
import { FairQueue, type Key } from './fair-queue.ts';

/** The waiting calls in the order in which they start, with their deadlines and signals. */
export class WaitingCalls<Job> extends FairQueue<Call<Job>> {
  readonly #deadlines = new Heap<Call<Job>>();

  /** The earliest deadline. */
  get deadlineUs(): number | undefined {
    return this.#deadlines.first?.atUs;
  }

  /** Adds a call, and removes it when its signal aborts. Adds none if that throws. */
  enter(
    call: Call<Job>,
    priority: number,
    key: Key,
    onAbort: (call: Call<Job>, reason: unknown) => void,
  ): void {
    this.add(call, priority, key);
    if (call.atUs < Number.POSITIVE_INFINITY) this.#deadlines.add(call);
    if (call.signal === undefined) return;
    try {
      call.unlink = onEitherAbort(call.signal, (reason) => {
        if (this.remove(call)) onAbort(call, reason);
      });
    } catch (error) {
      if (this.remove(call)) throw error;
    }
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

  protected override left(call: Call<Job>): void {
    this.#deadlines.remove(call);
    call.unlink?.();
    call.unlink = undefined;
  }
}
