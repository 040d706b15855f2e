import { timers } from '../memory/timers.ts';

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
