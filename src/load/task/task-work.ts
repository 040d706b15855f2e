import { Fifo } from '../fifo.ts';
import type { OpenHooks } from '../thread-service.ts';
import type { Work } from '../work.ts';
import { Call } from './call.ts';
import { type Failure, failureOf } from './failure.ts';
import type { TaskModule } from './task.ts';
import { isThenable } from './thenable.ts';

export interface TaskWorkOptions extends OpenHooks {
  readonly task: TaskModule['default'];
  /** The index of the thread. */
  readonly thread: number;
  /** Maximum number of calls in flight. */
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** Returns the number of the next call. */
  readonly nextSequence: () => number;
  /** Called when the last call has ended. A rejection goes into the result. */
  readonly onClose: () => Promise<void>;
}

interface QueuedCall {
  readonly dueUs: number;
  readonly queuedUs: number;
}

/** A call that blocks its thread this long counts as blocked. */
const BLOCKED_US = 100_000;

const NO_TURN = 'its thread had no room for it until the end of the run';

/**
 * Calls a task with a limited number of calls in flight. Further calls are queued. Latency counts
 * from the due instant.
 */
export class TaskWork implements Work {
  readonly #options: TaskWorkOptions;
  /** In the order started, which is the order of their deadlines. */
  readonly #inFlight = new Set<Call>();
  readonly #queue = new Fifo<QueuedCall>();
  #isPumping = false;
  #deadline: NodeJS.Timeout | undefined;

  constructor(options: TaskWorkOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  get capacity(): number {
    return this.#options.concurrency;
  }

  get queued(): number {
    return this.#queue.length;
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0 && this.#queue.length === 0;
  }

  send(dueUs: number, nowUs: number): void {
    this.#queue.push({ dueUs, queuedUs: nowUs });
    this.#pump();
  }

  dropQueue(): void {
    const nowUs = this.#options.now();
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      this.#drop(next, nowUs);
    }
  }

  /** Counts all unfinished calls as failures of this kind: the thread ends. */
  abandon(kind: string, example: string): void {
    this.dropQueue();
    const nowUs = this.#options.now();
    for (const call of this.#inFlight) this.#count(call, nowUs, { kind, example });
    this.#inFlight.clear();
  }

  async close(): Promise<void> {
    clearTimeout(this.#deadline);
    await this.#options.onClose();
  }

  #pump(): void {
    // A call that ends synchronously re-enters here. Let the outer loop continue with the queue.
    if (this.#isPumping) return;
    this.#isPumping = true;
    while (this.#inFlight.size < this.#options.concurrency) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      this.#start(next);
    }
    this.#isPumping = false;
  }

  #drop({ dueUs, queuedUs }: QueuedCall, nowUs: number): void {
    const tally = this.#options.tallyOf(dueUs);
    tally.countError('unsent', NO_TURN, dueUs);
    tally.record('queued', nowUs - queuedUs);
    tally.recordLatency(dueUs, nowUs - dueUs);
  }

  #start(queued: QueuedCall): void {
    const { task, thread, nextSequence, tallyOf, now, isOver, timeoutMs } = this.#options;
    const { dueUs, queuedUs } = queued;
    const startedUs = now();
    if (isOver(startedUs)) {
      this.#drop(queued, startedUs);
      return;
    }
    const tally = tallyOf(dueUs);
    tally.counters.sent += 1;
    tally.record('queued', startedUs - queuedUs);
    const call = new Call(thread, nextSequence(), dueUs, startedUs);
    let ended: Promise<unknown> | undefined;
    let failure: Failure | undefined;
    // Add it first: the call may end the thread, and must still be in the results.
    this.#inFlight.add(call);
    try {
      const result = task(call);
      if (isThenable(result)) ended = Promise.resolve(result);
    } catch (error) {
      failure = failureOf(error);
    }
    const returnedUs = now();
    if (returnedUs - startedUs >= BLOCKED_US) tally.countBlocked(returnedUs - startedUs);
    if (ended !== undefined) {
      this.#deadline ??= setTimeout(this.#sweep, timeoutMs);
      ended.then(
        () => this.#settle(call),
        (error: unknown) => this.#settle(call, failureOf(error)),
      );
      return;
    }
    this.#inFlight.delete(call);
    this.#count(call, returnedUs, failure);
  }

  #settle(call: Call, failure?: Failure): void {
    // The call has timed out, or the thread is about to end.
    if (!this.#inFlight.delete(call)) return;
    this.#count(call, this.#options.now(), failure);
    this.#pump();
    if (this.isIdle) this.#options.onIdle();
  }

  /** Times out overdue calls, then sleeps until the next deadline: one timer for all. */
  readonly #sweep = (): void => {
    const { now, timeoutMs, onIdle } = this.#options;
    const nowUs = now();
    this.#deadline = undefined;
    for (const call of this.#inFlight) {
      const leftMs = timeoutMs - (nowUs - Call.startOf(call)) / 1_000;
      if (leftMs > 0) {
        // Timers may fire early; the sweep then runs once more for the same call.
        this.#deadline = setTimeout(this.#sweep, Math.ceil(leftMs));
        break;
      }
      this.#inFlight.delete(call);
      this.#count(call, nowUs, undefined);
      Call.abort(call, new DOMException(this.#tooLong, 'TimeoutError'));
    }
    this.#pump();
    if (this.isIdle) onIdle();
  };

  get #tooLong(): string {
    return `the call took longer than ${this.#options.timeoutMs} ms`;
  }

  /** Counts a finished call. Its time counts whatever its outcome. */
  #count(call: Call, nowUs: number, failure: Failure | undefined): void {
    const { tallyOf, timeoutMs } = this.#options;
    const { dueUs } = call;
    const tally = tallyOf(dueUs);
    const tookUs = nowUs - Call.startOf(call);
    if (tookUs >= timeoutMs * 1_000) tally.countError('timed out', this.#tooLong, dueUs);
    else if (failure === undefined) tally.counters.succeeded += 1;
    else tally.countError(failure.kind, failure.example, dueUs);
    tally.record('response', tookUs);
    tally.recordLatency(dueUs, nowUs - dueUs);
  }
}
