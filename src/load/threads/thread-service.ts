import type { MessagePort } from 'node:worker_threads';
import { systemClock } from '../../time/system-clock.ts';
import { ThreadTallies } from '../measure/tally.ts';
import { type Fleet, joinFleet } from '../plan/fleet.ts';
import { Backlog, type Work, type WorkHooks } from '../send/work.ts';
import type { LoadCommand, ThreadData } from './messages.ts';
import { ThreadPort } from './thread-port.ts';
import { startRun, type ThreadRun } from './thread-run.ts';

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
  readonly #port: ThreadPort;
  readonly #options: ThreadServiceOptions;
  readonly #tallies = new ThreadTallies();
  readonly #backlog: Backlog;
  #fleet: Fleet | undefined;
  #work: Work | undefined;
  #run: ThreadRun | undefined;

  constructor(port: MessagePort, options: ThreadServiceOptions) {
    this.#options = options;
    this.#backlog = new Backlog(options.capacity);
    this.#port = new ThreadPort(
      port,
      () => this.#prepare(),
      (command) => this.#obey(command),
    );
  }

  /** Resolves when the last report is posted. */
  get done(): Promise<void> {
    return this.#port.done;
  }

  /** Posts the last report immediately: the thread ends before its work does. */
  abandon(failure: string): void {
    this.#run?.abandon(failure);
  }

  async #prepare(): Promise<void> {
    const { data, open } = this.#options;
    this.#fleet = data.fleet && (await joinFleet(data.fleet));
    this.#work = await open({
      tallyOf: (dueUs) => this.#tallies.of(dueUs),
      now: () => systemClock.now(),
      onIdle: () => this.#run?.onIdle(),
      isOver: (nowUs) => this.#run?.isOver(nowUs) === true,
    });
  }

  #obey(command: LoadCommand): void {
    if (command.type === 'go') this.#go(command);
    if (command.type === 'stop') this.#run?.stop(command.endUs);
    if (command.type === 'processors') this.#backlog.processorsAreFull = command.areFull;
    if (command.type !== 'rate') return;
    this.#run?.follow(command.outstanding);
    this.#port.post({ type: 'followed' });
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
        post: this.#port.post,
      },
      () => this.#port.close(),
    );
    this.#run.start();
  }
}
