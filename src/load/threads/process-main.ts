import { Worker } from 'node:worker_threads';
import { HostRegion } from '../../host.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';
import { newCount } from '../plan/timetable.ts';
import type { LoadCommand, ProcessCommand, ProcessEvent } from './messages.ts';

/** The channel to the main process. */
export interface ProcessChannel {
  send(event: ProcessEvent): void;
  onCommand(listener: (command: ProcessCommand) => void): void;
}

type Handle = Parameters<typeof TokenBucket.attach>[0];

/** Runs load threads in this process for the main process. `path` is the shared bucket's region. */
export function runLoadProcess(path: string, { send, onCommand }: ProcessChannel): void {
  try {
    HostRegion.find(path);
  } catch (error) {
    send({ type: 'down', reason: (error as Error).message });
    return;
  }
  const workers: Worker[] = [];
  let bucket: TokenBucket | undefined;
  const taken = newCount();
  /**
   * Handle and timetable arrive without memory, which can't be sent: this process's takes its place.
   */
  const here = (command: LoadCommand): LoadCommand => {
    if (command.type !== 'go') return command;
    bucket ??= TokenBucket.attach(command.bucket as Handle);
    const timetable = command.timetable && { ...command.timetable, taken };
    return { ...command, bucket: bucket.handle, timetable };
  };
  onCommand((message) => {
    const { thread } = message;
    if (message.type === 'command') {
      workers[thread]?.postMessage(here(message.command));
      return;
    }
    const worker = new Worker(new URL(message.code), { workerData: message.data });
    workers[thread] = worker;
    for (const event of ['message', 'error', 'exit'] as const) {
      worker.on(event, (given: unknown) => {
        const { user, system } = process.cpuUsage();
        const value = event === 'error' ? String(given) : given;
        send({ type: 'thread', thread, event, value, cpuMs: (user + system) / 1_000 });
      });
    }
  });
  send({ type: 'up' });
}
