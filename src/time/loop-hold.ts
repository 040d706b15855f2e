import { timers } from '../memory/timers.ts';

/** Period of the timer that keeps the event loop alive; it does nothing when it fires. */
const KEEP_ALIVE_MS = 2 ** 30;

/** Keeps the event loop of this thread alive while it has holders. */
export class LoopHold {
  #holders = 0;
  #timer: ReturnType<typeof timers.repeat> | undefined;

  take(): void {
    this.#holders++;
    this.#timer ??= timers.repeat(() => undefined, KEEP_ALIVE_MS);
  }

  release(): void {
    this.#holders--;
    if (this.#holders > 0) return;
    timers.stopRepeating(this.#timer);
    this.#timer = undefined;
  }
}
