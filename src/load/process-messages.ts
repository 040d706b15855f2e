import type { LoadCommand, LoadEvent, ThreadData } from './messages.ts';

// Messages between the main process and the processes it starts. A thread is identified by its
// index within its process.

/** A message from the main process. */
export type ProcessCommand =
  | {
      readonly type: 'start';
      readonly thread: number;
      /** The URL of the thread's code. */
      readonly code: string;
      readonly data: ThreadData;
    }
  | { readonly type: 'command'; readonly thread: number; readonly command: LoadCommand };

/** A message to the main process. */
export type ProcessEvent =
  /** The process has opened the region. */
  | { readonly type: 'up' }
  /** The process can't open the region, and ends. */
  | { readonly type: 'down'; readonly reason: string }
  | {
      readonly type: 'event';
      readonly thread: number;
      readonly event: LoadEvent;
      /** Processor time used by the process, in milliseconds. */
      readonly cpuMs: number;
    }
  | { readonly type: 'error'; readonly thread: number; readonly reason: string }
  | { readonly type: 'exit'; readonly thread: number; readonly code: number };
