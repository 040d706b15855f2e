import type { LoopGauge } from '../measure/gauges.ts';
import type { Tally } from '../measure/tally.ts';
import { Fifo } from './fifo.ts';

/** What a thread provides to its work. */
export interface WorkHooks {
  /** The tally for requests due at this instant. */
  readonly tallyOf: (dueUs: number) => Tally;
  /** The current time in microseconds, on the clock of the due instants. */
  readonly now: () => number;
  /** Called when nothing is in flight or queued. */
  readonly onIdle: () => void;
}

/** The kind of error of requests or calls that are cut because the run is stopped. */
export const INTERRUPTED = 'interrupted';
/** How long a run that is stopped waits for requests or calls in flight. */
export const STOPPED_MS = 1_000;
/** Why those that take longer are ended. */
export const STOPPED = `the run was stopped ${STOPPED_MS / 1_000} s before`;

export interface QueuedWorkOptions extends WorkHooks {
  readonly timeoutMs: number;
}

/** A request or call in flight. */
export interface InFlight {
  readonly dueUs: number;
  readonly startedUs: number;
}

/** A request or call that is due and waits for room. */
export interface Queued {
  readonly dueUs: number;
  readonly queuedUs: number;
}

/**
 * Starts requests or calls while there is room for them. Further ones are queued. Latency counts
 * from the due instant, so that nobody can hide a stall by delaying later ones.
 *
 * `Room` is what one of them occupies.
 */
export abstract class QueuedWork<One extends InFlight, Room> {
  readonly #hooks: QueuedWorkOptions;
  /** In the order started, which is the order of their deadlines. */
  readonly #inFlight = new Set<One>();
  readonly #queue = new Fifo<Queued>();
  #wasFull = false;
  #isPumping = false;
  #deadline: NodeJS.Timeout | undefined;

  constructor(hooks: QueuedWorkOptions) {
    this.#hooks = hooks;
  }

  /** The most requests or calls that can be in flight: of HTTP/2, as many as the server allows. */
  abstract readonly capacity: number;
  /** Why the queued requests are dropped. */
  protected abstract readonly noRoom: string;
  /** What one that has timed out did. */
  protected abstract readonly tooLong: string;
  /** Room for one more; undefined if there is none. */
  protected abstract room(): Room | undefined;
  protected abstract start(next: Queued, room: Room): void;
  /** Ends one that has failed: it has timed out, or the run is stopped. */
  protected abstract cancel(one: One, why: DOMException): void;

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Whether one of them ever had to wait for room. */
  get wasFull(): boolean {
    return this.#wasFull;
  }

  /** Requests or calls that are due and not started. */
  get queued(): number {
    return this.#queue.length;
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0 && this.#queue.length === 0;
  }

  /** Starts or queues a due request or call. */
  send(dueUs: number, nowUs: number): void {
    this.#queue.push({ dueUs, queuedUs: nowUs });
    this.pump();
  }

  /** Drops the queue and counts its entries as `unsent`. */
  dropQueue(): void {
    const nowUs = this.#hooks.now();
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      this.drop(next, nowUs);
    }
  }

  /** Counts all that is unfinished as failures of this kind. */
  abandon(kind: string, example: string): void {
    this.dropQueue();
    for (const one of this.#inFlight) this.fail(one, kind, example);
    this.#inFlight.clear();
  }

  /** Drops the queue, and ends what is in flight: it counts as `interrupted`. */
  interrupt(): void {
    const cut = [...this.#inFlight];
    this.abandon(INTERRUPTED, STOPPED);
    for (const one of cut) this.cancel(one, new DOMException(STOPPED, 'AbortError'));
  }

  /** A rejection reports a failed teardown; the results stay valid. */
  close(): void | Promise<void> {
    clearTimeout(this.#deadline);
  }

  /** Starts what is queued as long as there is room. */
  protected pump(): void {
    // One that ends synchronously re-enters here. Let the outer call continue with the queue, so
    // that the stack does not grow with each.
    if (this.#isPumping) return;
    this.#isPumping = true;
    while (this.#queue.length > 0) {
      const room = this.room();
      if (room === undefined) {
        this.#wasFull = true;
        break;
      }
      const next = this.#queue.shift();
      if (next !== undefined) this.start(next, room);
    }
    this.#isPumping = false;
  }

  /** Call when some have ended outside of `start`, and `pump` if others may start. */
  protected tellIdle(): void {
    if (this.isIdle) this.#hooks.onIdle();
  }

  protected drop({ dueUs, queuedUs }: Queued, nowUs: number): void {
    const tally = this.#hooks.tallyOf(dueUs);
    tally.countError('unsent', this.noRoom, dueUs);
    tally.record('queued', nowUs - queuedUs);
    tally.recordLatency(dueUs, nowUs - dueUs);
  }

  /** Counts one that starts. */
  protected begin(one: One, { queuedUs }: Queued): Tally {
    const tally = this.#hooks.tallyOf(one.dueUs);
    this.#inFlight.add(one);
    tally.counters.sent += 1;
    tally.record('queued', one.startedUs - queuedUs);
    this.#deadline ??= setTimeout(this.#sweep, this.#hooks.timeoutMs);
    return tally;
  }

  /** Whether it was still in flight; now it is not. */
  protected leave(one: One): boolean {
    return this.#inFlight.delete(one);
  }

  /** Records the times of one that has ended, whatever its outcome. */
  protected recordTimes({ dueUs, startedUs }: One, nowUs = this.#hooks.now()): void {
    const tally = this.#hooks.tallyOf(dueUs);
    tally.record('response', nowUs - startedUs);
    tally.recordLatency(dueUs, nowUs - dueUs);
  }

  protected fail(one: One, kind: string, example: string): void {
    this.#hooks.tallyOf(one.dueUs).countError(kind, example, one.dueUs);
    this.recordTimes(one);
  }

  /** Fails what is overdue, then sleeps until the next deadline: one timer for all. */
  readonly #sweep = (): void => {
    const { now, timeoutMs } = this.#hooks;
    const nowUs = now();
    this.#deadline = undefined;
    for (const one of this.#inFlight) {
      const leftMs = timeoutMs - (nowUs - one.startedUs) / 1_000;
      if (leftMs > 0) {
        // Timers may fire early; the sweep then runs once more for the same one.
        this.#deadline = setTimeout(this.#sweep, Math.ceil(leftMs));
        break;
      }
      this.leave(one);
      this.fail(one, 'timed out', this.tooLong);
      this.cancel(one, new DOMException(this.tooLong, 'TimeoutError'));
    }
    this.pump();
    this.tellIdle();
  };
}

/** What a thread does at each due instant: it sends requests, or calls a task. */
export type Work = Omit<QueuedWork<InFlight, unknown>, 'abandon'>;

/** With the processors full, a thread with this many queued requests can't catch up. */
const MOST_QUEUED = 10_000;

/**
 * Whether a thread must leave slots to other threads because this client can't keep up. A slow target
 * alone is never a reason: requests to it stay due.
 *
 * @param processorsAreFull whether the machine has no processor time left
 */
export function isBehind(
  { queued, capacity }: Pick<Work, 'queued' | 'capacity'>,
  loop: Pick<LoopGauge, 'isFull'>,
  processorsAreFull: boolean,
): boolean {
  if (queued <= capacity) return false;
  return loop.isFull || (processorsAreFull && queued > MOST_QUEUED);
}
