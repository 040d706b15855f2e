import { errorKind, type Failure, INTERRUPTED, TIMED_OUT, UNSENT } from '../measure/errors.ts';
import { MOST_BUSY, type UseGauge } from '../measure/gauges.ts';
import type { Tally } from '../measure/tally.ts';
import type { Abandon, Carrier, Carriers, Exchange, Outcome } from './carrier.ts';
import { Fifo } from './fifo.ts';

/** What a thread provides to its work. */
export interface WorkOptions {
  readonly timeoutMs: number;
  /** The tally for requests due at this instant. */
  readonly tallyOf: (dueUs: number) => Tally;
  /** The current time in microseconds, on the clock of the due instants. */
  readonly now: () => number;
  /** Called when nothing is in flight or queued. */
  readonly onIdle: () => void;
  /** Whether it is too late to start what may block. */
  readonly isOver: (nowUs: number) => boolean;
}

/** How long a run that is stopped waits for requests or calls in flight. */
export const STOPPED_MS = 1_000;
/** Why those that take longer are ended. */
export const STOPPED = `the run was stopped ${STOPPED_MS / 1_000} s before`;

/** A request or call in flight. */
interface InFlight extends Exchange {
  /** What has made room for it. */
  readonly carrier: Carrier;
  abandon: Abandon | undefined;
  /** Undefined until it has ended by itself. */
  endedUs: number | undefined;
}

/** A request or call that is due and waits for room. */
interface Queued {
  readonly dueUs: number;
  readonly queuedUs: number;
}

/**
 * Starts requests or calls while there is room for them. Further ones are queued. Latency counts
 * from the due instant, so that nobody can hide a stall by delaying later ones.
 */
export class QueuedWork {
  readonly #options: WorkOptions;
  readonly #carriers: Carriers;
  /** In the order started, which is the order of their deadlines. */
  readonly #inFlight = new Set<InFlight>();
  readonly #queue = new Fifo<Queued>();
  #wasFull = false;
  #isPumping = false;
  #deadline: NodeJS.Timeout | undefined;

  constructor(options: WorkOptions, carriers: Carriers) {
    this.#options = options;
    this.#carriers = carriers;
  }

  /** The most requests or calls that can be in flight. */
  get capacity(): number {
    return this.#carriers.capacity;
  }

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
    this.#pump();
  }

  /** Drops the queue and counts its entries as `unsent`. */
  dropQueue(): void {
    const nowUs = this.#options.now();
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      this.#drop(next, nowUs);
    }
  }

  /** Counts all that is unfinished as failures of this kind. */
  abandon(kind: string, example: string): void {
    this.dropQueue();
    for (const one of this.#inFlight) this.#count(one, { kind, example });
    this.#inFlight.clear();
  }

  /** Drops the queue, and ends what is in flight: it counts as `interrupted`. */
  interrupt(): void {
    const cut = [...this.#inFlight];
    this.abandon(INTERRUPTED, STOPPED);
    for (const one of cut) this.#cancel(one, new DOMException(STOPPED, 'AbortError'));
  }

  /** A rejection reports a failed teardown; the results stay valid. */
  close(): void | Promise<void> {
    clearTimeout(this.#deadline);
    return this.#carriers.close();
  }

  /** Starts what is queued as long as there is room. */
  #pump(): void {
    // One that ends synchronously re-enters here. Let the outer call continue with the queue, so
    // that the stack does not grow with each.
    if (this.#isPumping) return;
    this.#isPumping = true;
    while (this.#queue.length > 0) {
      const carrier = this.#carriers.take();
      if (carrier === undefined) {
        this.#wasFull = true;
        break;
      }
      const next = this.#queue.shift();
      if (next !== undefined) this.#start(next, carrier);
    }
    this.#isPumping = false;
  }

  #start(next: Queued, carrier: Carrier): void {
    const { now, tallyOf, timeoutMs, isOver } = this.#options;
    const { dueUs, queuedUs } = next;
    const { mayBlock = false } = this.#carriers;
    const startedUs = now();
    if (mayBlock && isOver(startedUs)) {
      this.#carriers.give(carrier);
      this.#drop(next, startedUs);
      return;
    }
    const one: InFlight = {
      dueUs,
      startedUs,
      carrier,
      abandon: undefined,
      endedUs: undefined,
      end: (outcome) => this.#end(one, outcome),
    };
    // Count it first: a call may end the thread, and must still be in the results.
    const tally = tallyOf(dueUs);
    this.#inFlight.add(one);
    tally.counters.sent += 1;
    tally.record('queued', startedUs - queuedUs);
    this.#deadline ??= setTimeout(this.#sweep, timeoutMs);
    one.abandon = carrier.dispatch(one);
    if (mayBlock) tally.countBlocked((one.endedUs ?? now()) - startedUs);
  }

  #end(one: InFlight, outcome: Outcome): void {
    // It has ended already, has timed out, or was cut.
    if (!this.#inFlight.delete(one)) return;
    const { now, timeoutMs } = this.#options;
    const nowUs = now();
    one.endedUs = nowUs;
    // One that took too long has failed, whatever its outcome.
    const isLate = nowUs - one.startedUs >= timeoutMs * 1_000;
    this.#count(one, isLate ? this.#timedOut : outcome, nowUs);
    this.#carriers.give(one.carrier);
    if (this.#isPumping) return;
    this.#pump();
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.isIdle) this.#options.onIdle();
  }

  #drop({ dueUs, queuedUs }: Queued, nowUs: number): void {
    const tally = this.#options.tallyOf(dueUs);
    tally.countError(UNSENT, this.#carriers.noRoom, dueUs);
    tally.record('queued', nowUs - queuedUs);
    tally.recordLatency(dueUs, nowUs - dueUs);
  }

  /** Counts one that has ended, with its times. */
  #count({ dueUs, startedUs }: InFlight, outcome: Outcome, nowUs = this.#options.now()): void {
    const tally = this.#options.tallyOf(dueUs);
    if (outcome === undefined) tally.counters.succeeded += 1;
    else if (typeof outcome === 'number') tally.countStatus(outcome, dueUs);
    else if (outcome instanceof Error) {
      tally.countError(errorKind(outcome), outcome.message, dueUs);
    } else tally.countError(outcome.kind, outcome.example, dueUs);
    tally.record('response', nowUs - startedUs);
    tally.recordLatency(dueUs, nowUs - dueUs);
  }

  get #timedOut(): Failure {
    const example = `${this.#carriers.tooLong} ${this.#options.timeoutMs} ms`;
    return { kind: TIMED_OUT, example };
  }

  /** Ends one that is counted already. */
  #cancel({ abandon, carrier }: InFlight, why: DOMException): void {
    abandon?.(why);
    this.#carriers.give(carrier);
  }

  /** Fails what is overdue, then sleeps until the next deadline: one timer for all. */
  readonly #sweep = (): void => {
    const { now, timeoutMs } = this.#options;
    const nowUs = now();
    this.#deadline = undefined;
    for (const one of this.#inFlight) {
      const leftMs = timeoutMs - (nowUs - one.startedUs) / 1_000;
      if (leftMs > 0) {
        // Timers may fire early; the sweep then runs once more for the same one.
        this.#deadline = setTimeout(this.#sweep, Math.ceil(leftMs));
        break;
      }
      this.#inFlight.delete(one);
      this.#count(one, this.#timedOut);
      this.#cancel(one, new DOMException(this.#timedOut.example, 'TimeoutError'));
    }
    this.#pump();
    this.#tellIdle();
  };
}

/** With the processors full, a thread with this many queued requests can't catch up. */
const MOST_QUEUED = 10_000;

/**
 * Whether a thread must leave slots to other threads because this client can't keep up. A slow target
 * alone is never a reason: requests to it stay due.
 *
 * @param processorsAreFull whether the machine has no processor time left
 */
export function isBehind(
  { queued, capacity }: Pick<QueuedWork, 'queued' | 'capacity'>,
  loop: Pick<UseGauge<'busy'>, 'recent'>,
  processorsAreFull: boolean,
): boolean {
  if (queued <= capacity) return false;
  return loop.recent.busy > MOST_BUSY || (processorsAreFull && queued > MOST_QUEUED);
}
