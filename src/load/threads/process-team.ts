import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import type { HostRegion } from '../../host.ts';
import { beside } from '../beside.ts';
import type { SlotTurns } from '../plan/timetable.ts';
import type { LoadCommand, ProcessCommand, ProcessEvent, ThreadData } from './messages.ts';
import { InterruptedError, type RunningThread, type StartThread } from './thread-handle.ts';

/** The main process's view of a process that runs load threads. */
export class ProcessHandle {
  readonly #child: ChildProcess;
  readonly #turns: SlotTurns;
  /** Its threads; undefined once they have exited. */
  readonly #threads: ((RunningThread & EventEmitter) | undefined)[] = [];
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
    this.#cpuMs = event.cpuMs;
    if (event.event === 'exit') this.#threads[event.thread] = undefined;
    thread?.emit(event.event, event.value);
  }

  /** Call when the process has ended: reports its remaining threads as crashed. */
  #lose(cause: string): void {
    for (const thread of this.#threads.splice(0)) {
      thread?.emit('error', `process ${this.#child.pid} ended with ${cause}`);
      thread?.emit('exit', 1);
    }
  }
}

const LOAD_PROCESS = beside('load-process.js');
/** Room for the bucket and the list of processes. */
const REGION_BYTES = 65_536;

let teams = 0;

/** Processes whose threads share one limiter, in a region that all of them map. */
export class ProcessTeam {
  /** The region to create the bucket in. */
  readonly region: HostRegion;
  readonly #members: readonly ProcessHandle[];
  readonly #threads: number;
  #started = 0;

  private constructor(region: HostRegion, members: readonly ProcessHandle[], threads: number) {
    this.region = region;
    this.#members = members;
    this.#threads = threads;
  }

  /**
   * Starts processes with this many threads each.
   *
   * @throws Error if processes can't share memory on this machine, or one can't start.
   * @throws InterruptedError if stopped meanwhile
   */
  static async start(processes: number, threads: number, stop: AbortSignal): Promise<ProcessTeam> {
    const region = await openRegion();
    const remove = () => rmSync(region.path, { force: true });
    // A second Ctrl-C exits at once.
    process.once('exit', remove);
    const starts = Array.from({ length: processes }, (_, first) =>
      ProcessHandle.start(LOAD_PROCESS, region.path, { first, of: processes }),
    );
    const results = await Promise.allSettled(starts);
    // All processes have it open. Without a path, no file stays behind however this process ends.
    process.off('exit', remove);
    remove();
    const members = results.flatMap((r) => (r.status === 'fulfilled' ? [r.value] : []));
    const team = new ProcessTeam(region, members, threads);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed === undefined && !stop.aborted) return team;
    await team.close();
    // Ctrl-C reaches the processes, too, and ends one that does not ignore it yet.
    throw stop.aborted ? new InterruptedError() : failed?.reason;
  }

  /** Starts a thread in the next process that lacks one. */
  readonly startThread: StartThread = (code, data) => {
    const member = this.#members[Math.floor(this.#started / this.#threads)];
    if (member === undefined) throw new Error('all processes have all of their threads');
    this.#started += 1;
    return member.startThread(code, data as ThreadData); // of threads at a rate
  };

  /** Processor time used by all processes, in milliseconds. */
  get cpuMs(): number {
    return this.#members.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  }

  /** Ends the processes. */
  async close(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.end()));
    this.region.close();
  }
}

const PREFIX = 'zerotime-load-';

async function openRegion(): Promise<HostRegion> {
  const path = `${PREFIX}${process.pid}-${Date.now()}-${teams++}`;
  try {
    const host = await import('../../host.ts');
    const region = host.HostRegion.open({ path, bytes: REGION_BYTES });
    await removeAbandoned(region.path.slice(0, -path.length));
    return region;
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(`processes cannot share a limiter here: ${message}`, { cause });
  }
}

/** Removes the regions of runs that were killed while they started. */
async function removeAbandoned(folder: string): Promise<void> {
  const { removeRegion } = await import('../../host/region-header.ts');
  for (const name of readdirSync(folder).filter((one) => one.startsWith(PREFIX))) {
    try {
      removeRegion(folder + name, { isForced: false });
    } catch {
      // A process has it open, such as this one, or it belongs to another user.
    }
  }
}
