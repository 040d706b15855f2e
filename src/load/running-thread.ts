import type { LoadCommand, LoadEvent, ThreadData } from './messages.ts';
import { startWorker } from './start-worker.ts';

/** A load thread that has been started, in this process or in another. */
export interface RunningThread {
  on(event: 'message', listener: (event: LoadEvent) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  /** It comes last, once. */
  on(event: 'exit', listener: (code: number) => void): unknown;
  postMessage(command: LoadCommand): void;
  terminate(): Promise<unknown>;
}

export type StartThread = (code: URL, data: ThreadData) => RunningThread;

/** Starts a thread of this process. */
export const startHere: StartThread = (code, workerData) => startWorker(code, workerData);
