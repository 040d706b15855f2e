import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { beside } from '../beside.ts';
import type { LoadOptions } from '../plan/options.ts';
import type { EchoServerOptions, ServerListening } from './echo-server.ts';

const ECHO_SERVER = beside('echo-server.js');

/** The target of a run. */
export interface Target {
  readonly url: string;
  /** The embedded server's URL, for rehearsals; undefined for a task. */
  readonly rehearsalUrl: string | undefined;
  /** Call when all threads are ready: stops the embedded server unless it is the target. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the target of a run. Starts the embedded server unless the run calls a task. */
export async function openTarget({ task, url, transport }: LoadOptions): Promise<Target> {
  if (task !== undefined) {
    const nothing = () => Promise.resolve();
    return { url: task.url, rehearsalUrl: undefined, ready: nothing, close: nothing };
  }
  const workerData: EchoServerOptions = { http2: transport?.http2 === true };
  const server = new Worker(ECHO_SERVER, { workerData });
  const close = async () => void (await server.terminate());
  // Rejects on the worker's 'error' event.
  const [{ url: ownUrl }] = (await once(server, 'message')) as [ServerListening];
  // If the server crashes later, requests fail and the result shows it.
  server.on('error', () => undefined);
  return {
    url: url ?? ownUrl,
    rehearsalUrl: ownUrl,
    ready: url === undefined ? () => Promise.resolve() : close,
    close,
  };
}
