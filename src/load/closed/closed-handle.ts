import type { Worker } from 'node:worker_threads';
import { startWorker } from '../start-worker.ts';
import type { RequestCounts } from '../tally.ts';
import type {
  ClosedCommand,
  ClosedEvent,
  ClosedRecord,
  ClosedThreadData,
  ThreadRound,
} from './messages.ts';

/** The main thread's view of a thread of a closed loop. */
export class ClosedHandle {
  readonly #worker: Worker;
  #isReady = false;
  #refusal: string | undefined;
  #crash: string | undefined;
  #record: ClosedRecord | undefined;
  #onAnswer: (round: ThreadRound | undefined) => void = () => undefined;
  /** The counts of the current round, as of the last report. */
  get counters(): RequestCounts {
    return this.#soFar?.counters ?? { sent: 0, succeeded: 0, failed: 0 };
  }

  /** The current round, as of the last report. */
  #soFar: ThreadRound | undefined;
  /** Resolves when the thread is ready or has crashed; never rejects. */
  readonly ready: Promise<void>;
  #settleReady: () => void = () => undefined;

  constructor(code: URL, workerData: ClosedThreadData) {
    this.ready = new Promise((resolve) => {
      this.#settleReady = resolve;
    });
    this.#worker = startWorker(code, workerData);
    this.#worker.on('message', (event: ClosedEvent) => this.#hear(event));
    this.#worker.on('error', (error) => {
      this.#fail(String(error).split('\n', 1).join());
    });
    this.#worker.on('exit', (code) => {
      this.#fail(`exited with code ${code}`);
      this.#settleReady();
      this.#onAnswer(this.#soFar);
    });
  }

  /** Why it could not get ready, as a message for the user. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** Why the thread ended early, or why its teardown failed; undefined otherwise. */
  get crash(): string | undefined {
    return this.#crash;
  }

  /**
   * Errors and times of its measured rounds; undefined while it runs, or if it could not report.
   */
  get record(): ClosedRecord | undefined {
    return this.#record;
  }

  /** Whether it accepts commands. */
  get isAlive(): boolean {
    return this.#isReady && this.#record === undefined && this.#crash === undefined;
  }

  /**
   * Runs a round. Resolves with its figures: those of the last report if the thread ends without
   * one, undefined if it never reported.
   */
  round(command: ClosedCommand & { type: 'round' }): Promise<ThreadRound | undefined> {
    this.#soFar = undefined;
    return this.#ask(command);
  }

  /** Ends the thread after it has reported its record. */
  async end(): Promise<void> {
    await this.#ask({ type: 'end' });
  }

  /** Terminates a thread that is overdue. */
  async giveUp(): Promise<void> {
    this.#fail('did not finish in time');
    await this.#worker.terminate();
  }

  #ask(command: ClosedCommand): Promise<ThreadRound | undefined> {
    if (!this.isAlive) return Promise.resolve(undefined);
    const answer = new Promise<ThreadRound | undefined>((resolve) => {
      this.#onAnswer = resolve;
    });
    this.#worker.postMessage(command);
    return answer;
  }

  #hear(event: ClosedEvent): void {
    switch (event.type) {
      case 'ready':
        this.#isReady = true;
        this.#settleReady();
        break;
      case 'unready':
        this.#refusal = event.reason;
        this.#fail(event.reason);
        this.#settleReady();
        break;
      case 'progress':
        this.#soFar = event.round;
        break;
      case 'round':
        this.#soFar = event.round;
        this.#onAnswer(event.round);
        break;
      case 'done':
        this.#record = event.record;
        this.#crash = event.failure;
        this.#onAnswer(event.round);
    }
  }

  #fail(reason: string): void {
    if (this.#record !== undefined) return;
    this.#crash ??= reason;
  }
}
