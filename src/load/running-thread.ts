import { Worker } from 'node:worker_threads';
import type { LoadCommand, LoadEvent, LoadThreadData } from './messages.ts';

/** A load thread that has been started, in this process or in another. */
export interface RunningThread {
  on(event: 'message', listener: (event: LoadEvent) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  /** It comes last, once. */
  on(event: 'exit', listener: (code: number) => void): unknown;
  postMessage(command: LoadCommand): void;
  terminate(): Promise<unknown>;
}

export type StartThread = (code: URL, data: LoadThreadData) => RunningThread;

/** Starts a thread of this process. */
export const startHere: StartThread = (code, workerData) => new Worker(code, { workerData });
