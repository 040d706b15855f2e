import type { LoadCommand, LoadEvent, ThreadData } from './messages.ts';
import { RecentLatencies } from './recent-latencies.ts';
import { type RunningThread, type StartThread, startHere } from './running-thread.ts';
import type { RequestCounts, TallyRecord } from './tally.ts';

/** The main thread's view of a load thread: its reports, and whether it is alive. */
export class ThreadHandle {
  readonly #worker: RunningThread;
  #tally: TallyRecord | undefined;
  #crash: string | undefined;
  #refusal: string | undefined;
  /** As of the last report. */
  counters: RequestCounts = { sent: 0, succeeded: 0, failed: 0 };
  /** The requests of the warm-up; available once the thread has ended. */
  warmUp: RequestCounts = { sent: 0, succeeded: 0, failed: 0 };
  /** Requests in flight or queued, as of the last report. */
  waiting = 0;
  /** Reported latencies that have not been taken yet. */
  readonly latencies = new RecentLatencies();
  /** The share of the time for which its event loop was busy; 0 until it has ended. */
  busy = 0;
  /** The most that it could have in flight; undefined until it has ended. */
  capacity: number | undefined;
  /** Resolves when the thread has loaded its code or has crashed; never rejects. */
  readonly ready: Promise<void>;
  /** Resolves when the thread has sent its last report or has crashed; never rejects. */
  readonly done: Promise<void>;

  /** Admissions reported so far. */
  admitted = 0;

  /** Rate changes that it has not acknowledged. */
  #unanswered = 0;
  /** Called when it has acknowledged all rate changes. */
  onFollowed: () => void = () => undefined;

  /**
   * @param onAdmissions receives each piece of the log and returns how many of its entries count.
   *   No further instant is earlier than `throughUs`, which is infinite once the thread has ended
   */
  constructor(
    code: URL,
    workerData: ThreadData,
    onAdmissions: (admissions: Float64Array, throughUs: number) => number,
    start: StartThread = startHere,
  ) {
    this.#worker = start(code, workerData);
    let settleReady: () => void;
    let settleDone: () => void;
    this.ready = new Promise((resolve) => {
      settleReady = resolve;
    });
    this.done = new Promise((resolve) => {
      settleDone = resolve;
    });
    this.#worker.on('message', (event: LoadEvent) => {
      if (event.type === 'ready') {
        settleReady();
        return;
      }
      if (event.type === 'unready') {
        this.#refusal = event.reason;
        this.#fail(event.reason);
        settleReady();
        return;
      }
      if (event.type === 'followed') {
        this.#unanswered -= 1;
        if (this.follows) this.onFollowed();
        return;
      }
      const throughUs = event.type === 'report' ? event.throughUs : Number.POSITIVE_INFINITY;
      this.admitted += onAdmissions(event.admissions, throughUs);
      if (event.type === 'report') {
        this.counters = event.counters;
        this.waiting = event.waiting;
        this.latencies.add(event.latencies);
      } else {
        this.#tally = event.tally;
        this.counters = event.tally.counters;
        this.waiting = 0;
        this.busy = event.busy;
        this.capacity = event.capacity;
        this.warmUp = event.warmUp;
        this.#crash = event.failure;
        settleDone();
      }
    });
    this.#worker.on('error', (error) => {
      // Only the first line: a stack or an assertion's source may follow.
      this.#fail(String(error).split('\n', 1).join());
    });
    // Unlike 'error', 'exit' is emitted after all messages of the thread.
    this.#worker.on('exit', (code) => {
      this.#fail(`exited with code ${code}`);
      onAdmissions(new Float64Array(), Number.POSITIVE_INFINITY);
      settleReady();
      settleDone();
    });
  }

  /** Why it could not get ready, as a message for the user. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** The outcomes of its requests; undefined while it runs, or if it could not report. */
  get tally(): TallyRecord | undefined {
    return this.#tally;
  }

  /** Why the thread ended early, or why its teardown failed; undefined otherwise. */
  get crash(): string | undefined {
    return this.#crash;
  }

  /** Whether its reservations follow all rate changes. True once it has ended. */
  get follows(): boolean {
    return this.#unanswered === 0 || this.#tally !== undefined || this.#crash !== undefined;
  }

  post(command: LoadCommand): void {
    if (command.type === 'rate') this.#unanswered += 1;
    this.#worker.postMessage(command);
  }

  /** Terminates a thread that is overdue. */
  async giveUp(): Promise<void> {
    this.#fail('did not finish in time');
    await this.#worker.terminate();
  }

  #fail(reason: string): void {
    if (this.#tally !== undefined) return;
    this.#crash ??= reason;
    this.waiting = 0;
  }
}
