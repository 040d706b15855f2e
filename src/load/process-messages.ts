import type { LoadCommand, LoadEvent, ThreadData } from './messages.ts';

// What the main process and those that it starts tell each other about threads, each known by the
// number that it has in its process.

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
  /** It has opened the region. */
  | { readonly type: 'up' }
  /** It ends, because it can't open the region. */
  | { readonly type: 'down'; readonly reason: string }
  | {
      readonly type: 'event';
      readonly thread: number;
      readonly event: LoadEvent;
      /** Processor time that the process has used, in milliseconds. */
      readonly cpuMs: number;
    }
  | { readonly type: 'error'; readonly thread: number; readonly reason: string }
  | { readonly type: 'exit'; readonly thread: number; readonly code: number };
