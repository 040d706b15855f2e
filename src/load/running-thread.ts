import type { LoadCommand, LoadEvent, ThreadData } from './messages.ts';
import { startWorker } from './start-worker.ts';

/** A started load thread, in this process or another. */
export interface RunningThread {
  on(event: 'message', listener: (event: LoadEvent) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  /** Emitted once, after all other events. */
  on(event: 'exit', listener: (code: number) => void): unknown;
  postMessage(command: LoadCommand): void;
  terminate(): Promise<unknown>;
}

export type StartThread = (code: URL, data: ThreadData) => RunningThread;

/** Starts a thread in this process. */
export const startHere: StartThread = (code, workerData) => startWorker(code, workerData);
