import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import type { SlotTurns } from '../plan/timetable.ts';
import type { LoadCommand, ProcessCommand, ProcessEvent, ThreadData } from './messages.ts';
import type { RunningThread } from './thread-handle.ts';

/** A load thread in another process. */
type RemoteThread = RunningThread & EventEmitter & { hasExited: boolean };

function exit(thread: RemoteThread, code: number): void {
  if (thread.hasExited) return;
  thread.hasExited = true;
  thread.emit('exit', code);
}

/** The main process's view of a process that runs load threads. */
export class ProcessHandle {
  readonly #child: ChildProcess;
  readonly #turns: SlotTurns;
  readonly #threads: RemoteThread[] = [];
  readonly #exited: Promise<void>;
  #cpuMs = 0;

  private constructor(child: ChildProcess, turns: SlotTurns) {
    this.#child = child;
    this.#turns = turns;
    this.#exited = new Promise((resolve) => {
      // Unlike 'exit', emitted after all messages.
      child.once('close', (code, signal) => {
        this.#lose(signal ?? `code ${code}`);
        resolve();
      });
      child.on('error', () => {
        if (child.pid === undefined) resolve(); // it could not be started
      });
    });
    child.on('message', (event: ProcessEvent) => this.#hear(event));
  }

  /**
   * Starts a process that opens the region at `path`.
   *
   * @param turns its slots of a timetable
   * @throws Error if it can't.
   */
  static async start(code: URL, path: string, turns: SlotTurns): Promise<ProcessHandle> {
    // Two processes can't share a debugger port.
    const execArgv = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
    const child = fork(code, [path], {
      execArgv,
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const handle = new ProcessHandle(child, turns);
    const reason = await handle.#refusal();
    if (reason === undefined) return handle;
    await handle.end();
    throw new Error(`a load process cannot start: ${reason}`);
  }

  /** Resolves with the reason why it can't start; undefined once it is up. */
  async #refusal(): Promise<string | undefined> {
    const ended = this.#exited.then(() => [{ type: 'down', reason: 'it ended at once' }]);
    try {
      const [first] = (await Promise.race([once(this.#child, 'message'), ended])) as [ProcessEvent];
      return first.type === 'down' ? first.reason : undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Processor time used, in milliseconds, as of its last report. */
  get cpuMs(): number {
    return this.#cpuMs;
  }

  startThread(code: URL, data: ThreadData): RunningThread {
    const number = this.#threads.length;
    const thread = Object.assign(new EventEmitter(), {
      hasExited: false,
      postMessage: (command: LoadCommand) =>
        this.#send({ type: 'command', thread: number, command: this.#remote(command) }),
      // Ends the whole process: an unresponsive process can't end a single thread.
      terminate: () => this.end(),
    });
    this.#threads.push(thread);
    this.#send({ type: 'start', thread: number, code: code.href, data });
    return thread;
  }

  /** Removes shared memory, which can't be sent. The region's path stays. */
  #remote(command: LoadCommand): LoadCommand {
    if (command.type !== 'go') return command;
    const { bucket, timetable } = command;
    return {
      ...command,
      bucket: { ...(bucket as object), memory: undefined },
      timetable: timetable && { ...timetable, taken: undefined, turns: this.#turns },
    };
  }

  /** Kills the process. */
  async end(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  #send(command: ProcessCommand): void {
    if (this.#child.connected) this.#child.send(command);
  }

  #hear(event: ProcessEvent): void {
    if (event.type === 'up' || event.type === 'down') return;
    const thread = this.#threads[event.thread];
    if (event.type === 'event') {
      this.#cpuMs = event.cpuMs;
      thread?.emit('message', event.event);
    } else if (event.type === 'error') thread?.emit('error', event.reason);
    else if (thread !== undefined) exit(thread, event.code);
  }

  /** Call when the process has ended: reports its remaining threads as crashed. */
  #lose(cause: string): void {
    for (const thread of this.#threads) {
      if (thread.hasExited) continue;
      thread.emit('error', `process ${this.#child.pid} ended with ${cause}`);
      exit(thread, 1);
    }
  }
}
