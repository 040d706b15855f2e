import type { MessagePort } from 'node:worker_threads';
import { asking, consumeBehindGate } from '../consumer.ts';

/** The channel to the main thread, and the number of requests in flight. */
export interface MainThreadData {
  readonly port: MessagePort;
  readonly inFlight: number;
}

await consumeBehindGate(({ port, inFlight }: MainThreadData) => {
  // Replies arrive in the order of the requests.
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
