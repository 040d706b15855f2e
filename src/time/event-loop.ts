import { timers } from '../memory/runtime.ts';

/** A browser's MessageChannel, which only the DOM library declares. */
interface Channel {
  readonly port1: { onmessage: (() => void) | null; close(): void };
  readonly port2: { postMessage(message: unknown): void };
}

/** Calls `look` in the next turn of the event loop. The returned function cancels it. */
export function nextTurn(look: () => void): () => void {
  if (timers.startTurn !== undefined) {
    const turn = timers.startTurn(look);
    return () => timers.stopTurn(turn);
  }
  // In browsers a message arrives without delay; repeated timers take 4 ms.
  const { port1, port2 } = new (MessageChannel as unknown as new () => Channel)();
  port1.onmessage = () => {
    port1.close();
    look();
  };
  port2.postMessage(undefined);
  return () => port1.close();
}

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
