import { Worker } from 'node:worker_threads';
import { onAbort } from '../../time/on-abort.ts';
import { LatencyCounts } from '../measure/latency-counts.ts';
import { type CallCounts, totalOf } from '../measure/tally.ts';
import type { LoadCommand, LoadEvent, ThreadRound } from './messages.ts';

/** The main thread's view of a load thread: its reports, and whether it is alive. */
export class ThreadHandle {
  readonly #worker: RunningThread;
  readonly #onAdmissions: OnAdmissions;
  /** Its last message; undefined while it runs, or if it could not report. */
  last: (LoadEvent & { type: 'done' }) | undefined;
  /** Why the thread ended early, or why its teardown failed; undefined otherwise. */
  crash: string | undefined;
  #isReady = false;
  /** Why it could not get ready, as a message for the user. */
  refusal: string | undefined;
  /** As of the last report. */
  counters: CallCounts = totalOf([]);
  /** Requests in flight or queued, as of the last report. */
  waiting = 0;
  /** Reported latencies that have not been taken yet. */
  readonly latencies = new LatencyCounts();
  /** Admissions reported so far. */
  admitted = 0;
  /** The current round, as of the last report. */
  roundSoFar: ThreadRound | undefined;
  /** Called with the last round, or as much of it as is known. */
  #onRound: (round: ThreadRound | undefined) => void = () => undefined;
  /** Rate changes that it has not acknowledged. */
  #unanswered = 0;
  /** Called when it has acknowledged all rate changes. */
  onFollowed: () => void = () => undefined;
  #settleReady: () => void = () => undefined;
  #settleDone: () => void = () => undefined;
  /** Resolves when the thread has loaded its code or has crashed; never rejects. */
  readonly ready = new Promise<void>((resolve) => {
    this.#settleReady = resolve;
  });
  /** Resolves when the thread has sent its last report or has crashed; never rejects. */
  readonly done = new Promise<void>((resolve) => {
    this.#settleDone = resolve;
  });

  constructor(
    code: URL,
    workerData: object,
    onAdmissions: OnAdmissions = () => 0,
    start: StartThread = startHere,
  ) {
    this.#onAdmissions = onAdmissions;
    this.#worker = start(code, workerData);
    this.#worker.on('message', (event: LoadEvent) => this.#hear(event));
    this.#worker.on('error', (error) => {
      // Only the first line: a stack or an assertion's source may follow.
      this.#fail(String(error).split('\n', 1).join());
    });
    // Unlike 'error', 'exit' is emitted after all messages of the thread.
    this.#worker.on('exit', (code) => {
      this.#fail(`exited with code ${code}`);
      onAdmissions(new Float64Array(), Number.POSITIVE_INFINITY);
      this.#settleReady();
      this.#settleDone();
      this.#onRound(this.roundSoFar);
    });
  }

  #hear(event: LoadEvent): void {
    switch (event.type) {
      case 'ready':
        this.#isReady = true;
        this.#settleReady();
        break;
      case 'unready':
        this.refusal = event.reason;
        this.#fail(event.reason);
        this.#settleReady();
        break;
      case 'followed':
        this.#unanswered -= 1;
        if (this.follows) this.onFollowed();
        break;
      case 'report':
        this.admitted += this.#onAdmissions(event.admissions, event.throughUs);
        this.counters = event.counters;
        this.waiting = event.waiting;
        this.latencies.add(event.latencies);
        break;
      case 'round':
        this.roundSoFar = event.round;
        if (event.isOver) this.#onRound(event.round);
        break;
      case 'done':
        this.admitted += this.#onAdmissions(event.admissions, Number.POSITIVE_INFINITY);
        this.counters = event.tally.counters;
        this.waiting = 0;
        this.last = event;
        this.crash = event.failure;
        this.#settleDone();
        this.#onRound(event.round);
    }
  }

  /** Whether it accepts commands. */
  get isAlive(): boolean {
    return this.#isReady && this.last === undefined && this.crash === undefined;
  }

  /** Whether its reservations follow all rate changes. True once it has ended. */
  get follows(): boolean {
    return this.#unanswered === 0 || this.last !== undefined || this.crash !== undefined;
  }

  post(command: LoadCommand): void {
    if (command.type === 'rate') this.#unanswered += 1;
    this.#worker.postMessage(command);
  }

  /**
   * Runs a round, or ends the rounds. Resolves with the round's figures: those of the last report if
   * the thread ends without one, undefined if it never reported.
   *
   * @param withinMs a thread that takes longer is terminated
   */
  ask(
    command: LoadCommand & { type: 'round' | 'end' },
    withinMs: number,
  ): Promise<ThreadRound | undefined> {
    if (!this.isAlive) return Promise.resolve(undefined);
    this.roundSoFar = undefined;
    const answer = new Promise<ThreadRound | undefined>((resolve) => {
      const overdue = setTimeout(() => void this.giveUp(), withinMs);
      this.#onRound = (round) => {
        clearTimeout(overdue);
        resolve(round);
      };
    });
    this.post(command);
    return answer;
  }

  /** Terminates a thread that is overdue. */
  async giveUp(): Promise<void> {
    this.#fail('did not finish in time');
    await this.#worker.terminate();
  }

  #fail(reason: string): void {
    if (this.last !== undefined) return;
    this.crash ??= reason;
    this.waiting = 0;
  }
}

/**
 * Receives each piece of a thread's log and returns how many of its entries count. No further
 * instant is earlier than `throughUs`, which is infinite once the thread has ended.
 */
export type OnAdmissions = (admissions: Float64Array, throughUs: number) => number;

/** A started load thread, in this process or another. */
export interface RunningThread {
  on(event: 'message', listener: (event: LoadEvent) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  /** Emitted once, after all other events. */
  on(event: 'exit', listener: (code: number) => void): unknown;
  postMessage(command: LoadCommand): void;
  terminate(): Promise<unknown>;
}

export type StartThread = (code: URL, data: object) => RunningThread;

/** Starts a thread in this process. If `workerData` can't be cloned, the task's `data` is to blame. */
const startHere: StartThread = (code, workerData) => {
  try {
    return new Worker(code, { workerData });
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== 'DataCloneError') throw error;
    throw new TypeError(`data must be cloneable: ${error.message}`, { cause: error });
  }
};

/** Thrown if the run is stopped before its first request. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';

  constructor(message = 'stopped before the first request') {
    super(message);
  }
}

/** A `setup` that never ends must not block the run for ever. */
const READY_MS = 60_000;

/** Waits until all threads are ready. Throws if one fails, or if the run is stopped first. */
export async function untilReady(
  threads: readonly Pick<ThreadHandle, 'ready' | 'crash' | 'refusal'>[],
  stop: AbortSignal,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let forget = () => {};
  const isTooLate = await new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, READY_MS, true);
    forget = onAbort(stop, () => resolve(false));
    void Promise.all(threads.map((thread) => thread.ready)).then(() => resolve(false));
  });
  clearTimeout(timer);
  forget();
  if (stop.aborted) throw new InterruptedError();
  if (isTooLate) throw new Error(`a load thread was not ready within ${READY_MS / 1_000} s`);
  const crashed = threads.find((thread) => thread.crash !== undefined);
  if (crashed === undefined) return;
  throw new Error(crashed.refusal ?? `a load thread cannot start: ${crashed.crash}`);
}
