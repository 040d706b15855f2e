import type { MessagePort } from 'node:worker_threads';
import { systemClock } from '../time/system-clock.ts';
import { Backlog } from './backlog.ts';
import { type Fleet, joinFleet } from './fleet.ts';
import type { LoadCommand, LoadEvent, ThreadData } from './messages.ts';
import { startRun, type ThreadRun } from './thread-run.ts';
import { ThreadTallies } from './thread-tallies.ts';
import { UnreadyError } from './unready-error.ts';
import type { Work, WorkHooks } from './work.ts';

export interface OpenHooks extends WorkHooks {
  /** Whether it is too late to start anything. */
  readonly isOver: (nowUs: number) => boolean;
}

export interface ThreadServiceOptions {
  readonly data: ThreadData;
  /** Requests that may be in flight before slots are left to others. Default: those of the work. */
  readonly capacity?: number;
  /** Prepares everything for the first due instant. */
  readonly open: (hooks: OpenHooks) => Promise<Work>;
}

/** Executes the commands of the main thread: opens the work, runs it, and reports. */
export class ThreadService {
  readonly #port: MessagePort;
  readonly #options: ThreadServiceOptions;
  readonly #tallies = new ThreadTallies();
  readonly #backlog: Backlog;
  #fleet: Fleet | undefined;
  #work: Work | undefined;
  #run: ThreadRun | undefined;
  /** Resolves when the last report is posted. */
  readonly done: Promise<void>;
  #settleDone: () => void = () => undefined;

  constructor(port: MessagePort, options: ThreadServiceOptions) {
    this.#port = port;
    this.#options = options;
    this.#backlog = new Backlog(options.capacity);
    this.done = new Promise((resolve) => {
      this.#settleDone = resolve;
    });
    port.on('message', (command: LoadCommand) => this.#obey(command));
    void this.#prepare();
  }

  /** Posts the last report immediately: the thread ends before its work does. */
  abandon(failure: string): void {
    this.#run?.abandon(failure);
  }

  readonly #post = (event: LoadEvent, transfer: ArrayBuffer[] = []): void => {
    this.#port.postMessage(event, transfer);
  };

  async #prepare(): Promise<void> {
    const { data, open } = this.#options;
    try {
      this.#fleet = data.fleet && (await joinFleet(data.fleet));
      this.#work = await open({
        tallyOf: (dueUs) => this.#tallies.of(dueUs),
        now: () => systemClock.now(),
        onIdle: () => this.#run?.onIdle(),
        isOver: (nowUs) => this.#run?.isOver(nowUs) === true,
      });
      this.#post({ type: 'ready' });
    } catch (error) {
      // Any other error crashes the thread, and the main thread reports it.
      if (!(error instanceof UnreadyError)) throw error;
      this.#post({ type: 'unready', reason: error.message });
      this.#close();
    }
  }

  #obey(command: LoadCommand): void {
    switch (command.type) {
      case 'go':
        this.#go(command);
        break;
      case 'stop':
        this.#run?.stop(command.endUs);
        break;
      case 'processors':
        this.#backlog.processorsAreFull = command.areFull;
        break;
      case 'rate':
        this.#run?.follow(command.outstanding);
        this.#post({ type: 'followed' });
    }
  }

  #go(command: LoadCommand & { type: 'go' }): void {
    if (this.#work === undefined) throw new Error('received go before it was ready');
    this.#run = startRun(
      {
        data: this.#options.data,
        command,
        work: this.#work,
        fleet: this.#fleet,
        backlog: this.#backlog,
        tallies: this.#tallies,
        post: this.#post,
      },
      () => this.#close(),
    );
    this.#run.start();
  }

  #close(): void {
    this.#port.close();
    this.#settleDone();
  }
}
