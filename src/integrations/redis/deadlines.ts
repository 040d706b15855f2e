import { systemClock } from '../../time/system-clock.ts';

/** A call that waits for its response. */
interface Pending {
  readonly untilUs: number;
  /** Called when the deadline has passed. */
  readonly expire: () => void;
}

/**
 * The deadlines of all calls of this thread. They share one timer, which stays set after a call: a
 * timer per call would cost more than the rest of the call. It keeps the event loop alive only
 * while calls wait.
 */
class Deadlines {
  readonly #pending = new Set<Pending>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firesUs = Number.POSITIVE_INFINITY;

  add(pending: Pending): void {
    this.#pending.add(pending);
    if (pending.untilUs < this.#firesUs) this.#set(pending.untilUs);
    else if (this.#pending.size === 1) this.#timer?.ref();
  }

  drop(pending: Pending): void {
    this.#pending.delete(pending);
    if (this.#pending.size === 0) this.#timer?.unref();
  }

  #set(untilUs: number): void {
    clearTimeout(this.#timer);
    const leftMs = Math.max(0, Math.ceil((untilUs - systemClock.now()) / 1000));
    this.#firesUs = untilUs;
    // A busy thread may not have read a response that has arrived: let it read first.
    this.#timer = setTimeout(() => setImmediate(() => this.#fire()), leftMs);
  }

  #fire(): void {
    this.#timer = undefined;
    this.#firesUs = Number.POSITIVE_INFINITY;
    const nowUs = systemClock.now();
    let nextUs = Number.POSITIVE_INFINITY;
    for (const pending of this.#pending) {
      if (pending.untilUs <= nowUs) {
        this.#pending.delete(pending);
        pending.expire();
      } else nextUs = Math.min(nextUs, pending.untilUs);
    }
    if (nextUs < this.#firesUs) this.#set(nextUs);
  }
}

export const deadlines = /* @__PURE__ */ new Deadlines();
