import { REGION } from './layout.ts';
import type { Region } from './region.ts';
import { markOf, processOfMark } from './thread-mark.ts';
import { timers } from './timers.ts';

/** A thread may be terminated while it creates a limiter, so others go ahead after this time. */
const PATIENCE_MS = 2000;
const PAUSE_MS = 1;

/**
 * Lets one thread at a time create a named limiter or clock, so that no other wastes memory on the
 * same name. Correctness does not depend on it: an overtaken thread finds the name taken.
 */
export class Naming {
  readonly #region: Region;
  readonly #mark: number;

  constructor(region: Region) {
    this.#region = region;
    this.#mark = markOf(region);
  }

  begin(): void {
    const { i32, sharing } = this.#region;
    const giveUpAt = timers.nowMs() + PATIENCE_MS;
    let holder = 0;
    for (;;) {
      const seen = Atomics.compareExchange(i32, REGION.naming, holder, this.#mark);
      if (seen === holder) return;
      holder = 0;
      if (seen === this.#mark) return; // left by an earlier thread with the same id
      const isOver = timers.nowMs() > giveUpAt || sharing?.hasEnded(processOfMark(seen));
      if (isOver) holder = seen;
      else pause(i32, REGION.naming, seen);
    }
  }

  end(): void {
    const { i32 } = this.#region;
    if (Atomics.compareExchange(i32, REGION.naming, this.#mark, 0) !== this.#mark) return;
    Atomics.notify(i32, REGION.naming);
  }
}

function pause(words: Int32Array<SharedArrayBuffer>, at: number, value: number): void {
  try {
    Atomics.wait(words, at, value, PAUSE_MS);
  } catch {
    // A page's main thread cannot block, so it asks again at once.
  }
}
