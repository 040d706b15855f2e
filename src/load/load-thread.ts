import type { MessagePort } from 'node:worker_threads';
import type { LoadThreadData } from './messages.ts';
import { openSender } from './open-sender.ts';
import { rehearse } from './rehearsal.ts';
import { ThreadService } from './thread-service.ts';

/** Runs a thread that sends requests. */
export function runLoadThread(port: MessagePort, data: LoadThreadData): void {
  new ThreadService(port, {
    data,
    open: async (hooks) => {
      await rehearse(data);
      return openSender(data, hooks);
    },
  });
}
