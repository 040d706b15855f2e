/** Period of the timer that keeps the event loop alive; it does nothing when it fires. */
const KEEP_ALIVE_MS = 2 ** 30;

/** Keeps the event loop of this thread alive while it has holders. */
export class LoopHold {
  #holders = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  take(): void {
    this.#holders++;
    this.#timer ??= setInterval(() => undefined, KEEP_ALIVE_MS);
  }

  release(): void {
    this.#holders--;
    if (this.#holders > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
