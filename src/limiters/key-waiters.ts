import { type WaitCount, Waiters } from './waiting.ts';

/** Counts this thread's waiting callers for each key. */
export class KeyWaiters {
  readonly #all = new Waiters();
  /** Only keys with waiting callers. */
  readonly #ofKey = new Map<string, Waiters>();

  /** Number of waiting callers of all keys. */
  get count(): number {
    return this.#all.count;
  }

  /** Counts the waiting callers of one key. */
  of(key: string): WaitCount {
    const all = this.#all;
    const ofKey = this.#ofKey;
    return {
      get count() {
        return ofKey.get(key)?.count ?? 0;
      },
      enter() {
        const waiters = ofKey.get(key) ?? new Waiters();
        ofKey.set(key, waiters);
        waiters.enter();
        all.enter();
      },
      leave() {
        all.leave();
        const waiters = ofKey.get(key);
        waiters?.leave();
        if (waiters?.count === 0) ofKey.delete(key);
      },
    };
  }
}
