import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** What `work` resolves with. Rejects as soon as the process ends, or if it has ended. */
export async function whileItRuns<T>(
  child: ChildProcess,
  name: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const { signal } = over;
  const fail = (cause?: unknown): never => {
    const how = child.signalCode ?? `code ${child.exitCode}`;
    throw new Error(`${name} ended with ${how}`, { cause });
  };
  const runs = child.exitCode === null && child.signalCode === null;
  // Unlike 'exit', 'close' comes after all messages.
  const ended = runs ? once(child, 'close', { signal }) : Promise.resolve();
  try {
    return await Promise.race([ended.then(() => fail(), fail), work(signal)]);
  } finally {
    over.abort();
  }
}

/** The next message of a process. Rejects if the process ends first. */
export function messageOf<T>(child: ChildProcess, name: string): Promise<T> {
  return whileItRuns(child, name, async (signal) => {
    const [message] = await once(child, 'message', { signal });
    return message;
  });
}
