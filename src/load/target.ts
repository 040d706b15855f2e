import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { beside } from './beside.ts';
import type { ServerListening } from './echo-server.ts';
import type { LoadOptions } from './options.ts';

const ECHO_SERVER = beside('echo-server.js');

/** What a run drives. */
export interface Target {
  readonly url: string;
  /** The URL of the embedded server, on which threads rehearse; undefined for a task. */
  readonly rehearsalUrl: string | undefined;
  /** Call this when all threads are ready: ends what they needed until then. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the embedded server, unless the run calls a task. */
export async function openTarget({ task, url }: LoadOptions): Promise<Target> {
  if (task !== undefined) {
    const nothing = () => Promise.resolve();
    return { url: task.url, rehearsalUrl: undefined, ready: nothing, close: nothing };
  }
  const server = new Worker(ECHO_SERVER);
  const close = async () => void (await server.terminate());
  // Rejects on the worker's 'error' event.
  const [{ url: ownUrl }] = (await once(server, 'message')) as [ServerListening];
  // If it crashes later, its requests fail and the result shows that.
  server.on('error', () => undefined);
  return {
    url: url ?? ownUrl,
    rehearsalUrl: ownUrl,
    ready: url === undefined ? () => Promise.resolve() : close,
    close,
  };
}
