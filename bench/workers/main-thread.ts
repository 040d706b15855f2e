import type { MessagePort } from 'node:worker_threads';
import { asking } from '../consumer.ts';
import { consumeBehindGate } from '../gate.ts';

/** The way to the main thread, and how many requests are under way at a time. */
export interface MainThreadData {
  readonly port: MessagePort;
  readonly inFlight: number;
}

await consumeBehindGate(({ port, inFlight }: MainThreadData) => {
  // Replies come in the order of the requests.
  const waiting: ((admitted: boolean) => void)[] = [];
  port.on('message', (admitted: boolean) => waiting.shift()?.(admitted));
  return asking(
    () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        port.postMessage(1);
      }),
    inFlight,
  );
});
