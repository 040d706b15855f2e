import { readFileSync, readlinkSync } from 'node:fs';

/** A thread as the system knows it: 0 and 0 where it does not tell. */
export interface OsThread {
  /** Its id, which another thread may get after its end. */
  readonly id: number;
  /** When it started, cut to 32 bits: tells it from a later thread with its id. */
  readonly started: number;
}

/** In `/proc/self/task/N/stat`, counted from the field after the name. */
const STARTED_FIELD = 19;

function startOf(id: number): number {
  const stat = readFileSync(`/proc/self/task/${id}/stat`, 'latin1');
  // The name before it may hold anything, parentheses included.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[STARTED_FIELD]) | 0;
}

/** This thread. */
export function ownOsThread(): OsThread {
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    return { id, started: startOf(id) };
  } catch {
    return { id: 0, started: 0 };
  }
}

/** Whether a thread of this process may still run; undefined if the system never tells. */
export function doesRun({ id, started }: OsThread): boolean | undefined {
  if (id === 0) return undefined;
  try {
    return startOf(id) === started;
  } catch (error) {
    // Any other error, such as too many open files, says nothing about the thread.
    const { code } = error as NodeJS.ErrnoException;
    return code !== 'ENOENT' && code !== 'ESRCH';
  }
}
