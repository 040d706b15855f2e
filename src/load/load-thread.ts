import type { MessagePort } from 'node:worker_threads';
import { requestTemplate } from './connection.ts';
import type { LoadThreadData } from './messages.ts';
import { rehearse } from './rehearsal.ts';
import { Sender } from './sender.ts';
import { ThreadService } from './thread-service.ts';

/** A connection that takes longer to open is left to its first request. */
const OPEN_MS = 2_000;

/** One of the threads that send requests. */
export function runLoadThread(port: MessagePort, data: LoadThreadData): void {
  const { url, rehearsal, connections, openAhead, request, timeoutMs } = data;
  const target = new URL(url);
  new ThreadService(port, {
    data,
    capacity: connections,
    open: async (hooks) => {
      await rehearse(rehearsal);
      const sender = new Sender({
        ...hooks,
        origin: target.origin,
        host: request.headers.find(([name]) => name.toLowerCase() === 'host')?.[1],
        request: requestTemplate(target, request),
        connections,
        timeoutMs,
      });
      await sender.open(openAhead, Math.min(timeoutMs, OPEN_MS));
      return sender;
    },
  });
}
