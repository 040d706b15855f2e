import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import type { LoadCommand, ThreadData } from './messages.ts';
import type { ProcessCommand, ProcessEvent } from './process-messages.ts';
import type { RunningThread } from './running-thread.ts';

/** A load thread of another process. */
class RemoteThread extends EventEmitter implements RunningThread {
  readonly #post: (command: LoadCommand) => void;
  readonly #end: () => Promise<void>;
  hasExited = false;

  constructor(post: (command: LoadCommand) => void, end: () => Promise<void>) {
    super();
    this.#post = post;
    this.#end = end;
  }

  postMessage(command: LoadCommand): void {
    this.#post(command);
  }

  /** Ends the whole process: one that does not answer has no way to end one of its threads. */
  terminate(): Promise<void> {
    return this.#end();
  }

  exit(code: number): void {
    if (this.hasExited) return;
    this.hasExited = true;
    this.emit('exit', code);
  }
}

/** A process that runs load threads, as seen by the main process. */
export class ProcessHandle {
  readonly #child: ChildProcess;
  readonly #threads: RemoteThread[] = [];
  readonly #exited: Promise<void>;
  #cpuMs = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      // Unlike 'exit', it comes after all messages.
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
   * @throws Error if it can't.
   */
  static async start(code: URL, path: string): Promise<ProcessHandle> {
    // Two processes can't be debugged at one port.
    const execArgv = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
    const child = fork(code, [path], {
      execArgv,
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const handle = new ProcessHandle(child);
    const reason = await handle.#refusal();
    if (reason === undefined) return handle;
    await handle.end();
    throw new Error(`a load process cannot start: ${reason}`);
  }

  /** Why it can't start; undefined once it is up. */
  async #refusal(): Promise<string | undefined> {
    const ended = this.#exited.then(() => [{ type: 'down', reason: 'it ended at once' }]);
    try {
      const [first] = (await Promise.race([once(this.#child, 'message'), ended])) as [ProcessEvent];
      return first.type === 'down' ? first.reason : undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Processor time that it has used, in milliseconds, as of its last report. */
  get cpuMs(): number {
    return this.#cpuMs;
  }

  startThread(code: URL, data: ThreadData): RunningThread {
    const number = this.#threads.length;
    const thread = new RemoteThread(
      (command) => this.#send({ type: 'command', thread: number, command: withoutMemory(command) }),
      () => this.end(),
    );
    this.#threads.push(thread);
    this.#send({ type: 'start', thread: number, code: code.href, data });
    return thread;
  }

  /** Ends the process at once. */
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
    else thread?.exit(event.code);
  }

  /** The process has ended, and with it the threads that it still had. */
  #lose(cause: string): void {
    for (const thread of this.#threads) {
      if (thread.hasExited) continue;
      thread.emit('error', `its process ${this.#child.pid} ended with ${cause}`);
      thread.exit(1);
    }
  }
}

/** The handle of the bucket, without memory that can't be sent. The region's path stays. */
function withoutMemory(command: LoadCommand): LoadCommand {
  if (command.type !== 'go') return command;
  return { ...command, bucket: { ...(command.bucket as object), memory: undefined } };
}
