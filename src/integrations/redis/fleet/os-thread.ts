import { readFileSync, readlinkSync } from 'node:fs';

/** The operating system's identification of a thread; all 0 if not available. */
export interface OsThread {
  /** Its id. A later thread may reuse it. */
  readonly id: number;
  /** Its start time, cut to 32 bits, to detect a reused id. */
  readonly started: number;
}

/** Index in `/proc/self/task/N/stat`, counted from the field after the name. */
const STARTED_FIELD = 19;

function startOf(id: number): number {
  const stat = readFileSync(`/proc/self/task/${id}/stat`, 'latin1');
  // The name may contain parentheses.
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

/** Whether a thread of this process may still run; undefined if the system can't tell. */
export function doesRun({ id, started }: OsThread): boolean | undefined {
  if (id === 0) return undefined;
  try {
    return startOf(id) === started;
  } catch (error) {
    // Other errors, such as too many open files, say nothing about the thread.
    const { code } = error as NodeJS.ErrnoException;
    return code !== 'ENOENT' && code !== 'ESRCH';
  }
}
