import type { Carrier, Carriers } from './carriers.ts';
import { ConnectionPool, type TargetOptions } from './connection-pool.ts';
import { type ErrorKind, errorKind } from './error-kind.ts';
import { Fifo } from './fifo.ts';
import { HttpExchange, type Outcome } from './http-exchange.ts';
import { Http2Sessions } from './http2-sessions.ts';
import type { Work, WorkHooks } from './work.ts';

export interface SenderOptions extends WorkHooks, TargetOptions {
  readonly timeoutMs: number;
}

interface QueuedRequest {
  readonly dueUs: number;
  readonly queuedUs: number;
}

/**
 * Sends requests over a limited number of connections. If all are busy, requests are queued.
 * Latency counts from the due instant, so a stalled server can't hide its stall by delaying later
 * requests.
 */
export class Sender implements Work {
  readonly #options: SenderOptions;
  readonly #carriers: Carriers;
  /** In the order sent, which is the order of their deadlines. */
  readonly #inFlight = new Map<HttpExchange, Carrier>();
  readonly #queue = new Fifo<QueuedRequest>();
  #pumping = false;
  #soon: NodeJS.Immediate | undefined;
  #deadline: NodeJS.Timeout | undefined;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#carriers =
      options.transport?.http2 === true ? new Http2Sessions(options) : new ConnectionPool(options);
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  get capacity(): number {
    return this.#carriers.capacity;
  }

  get queued(): number {
    return this.#queue.length;
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0 && this.#queue.length === 0;
  }

  /**
   * Opens the first `count` connections. One that is not open in time is opened by its first
   * request.
   */
  open(count: number, timeoutMs: number): Promise<void> {
    return this.#carriers.open(count, timeoutMs);
  }

  /** Sends or queues a request that is due. */
  send(dueUs: number, nowUs: number): void {
    this.#queue.push({ dueUs, queuedUs: nowUs });
    this.#pump();
  }

  /** Drops the queued requests. Each counts as `unsent`, with the time for which it waited. */
  dropQueue(): void {
    const { tallyOf, now } = this.#options;
    const nowUs = now();
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const tally = tallyOf(next.dueUs);
      tally.countError('unsent', this.#noRoom, next.dueUs);
      tally.record('queued', nowUs - next.queuedUs);
      tally.recordLatency(next.dueUs, nowUs - next.dueUs);
    }
  }

  get #noRoom(): string {
    const what = this.#options.transport?.http2 === true ? 'stream' : 'connection';
    return `no ${what} was free until the end of the run`;
  }

  close(): void {
    clearTimeout(this.#deadline);
    this.#carriers.close();
  }

  #pump(): void {
    // An exchange that fails synchronously re-enters here. Let the outer call continue with the
    // queue, so that the stack does not grow with each failure.
    if (this.#pumping) return;
    this.#pumping = true;
    while (this.#queue.length > 0) {
      const carrier = this.#carriers.take();
      if (carrier === undefined) break;
      const next = this.#queue.shift();
      if (next !== undefined) this.#start(carrier, next);
    }
    this.#pumping = false;
  }

  #start(carrier: Carrier, { dueUs, queuedUs }: QueuedRequest): void {
    const { tallyOf, now, timeoutMs } = this.#options;
    const tally = tallyOf(dueUs);
    const sentUs = now();
    const exchange = new HttpExchange(dueUs, sentUs, this.#end);
    this.#inFlight.set(exchange, carrier);
    tally.counters.sent += 1;
    tally.record('queued', sentUs - queuedUs);
    this.#deadline ??= setTimeout(this.#sweep, timeoutMs);
    carrier.dispatch(exchange);
  }

  readonly #end = (exchange: HttpExchange, outcome: Outcome): void => {
    const { tallyOf, onIdle } = this.#options;
    if (outcome.ended === 'response') {
      tallyOf(exchange.dueUs).countStatus(outcome.status, exchange.dueUs);
      this.#recordTimes(exchange);
    } else {
      this.#countError(exchange, errorKind(outcome.error), outcome.error.message);
    }
    const carrier = this.#inFlight.get(exchange);
    this.#inFlight.delete(exchange);
    if (carrier !== undefined) this.#carriers.give(carrier);
    // During an error, undici is still failing its pending requests: a new request would trip an
    // assertion.
    if (outcome.ended === 'error') this.#pumpSoon();
    else this.#pump();
    if (this.isIdle) onIdle();
  };

  #pumpSoon(): void {
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.#pump();
    });
  }

  /** Times out overdue exchanges, then sleeps until the next deadline: one timer for all. */
  readonly #sweep = (): void => {
    const { now, timeoutMs, onIdle } = this.#options;
    const nowUs = now();
    this.#deadline = undefined;
    for (const [exchange, carrier] of this.#inFlight) {
      const leftMs = timeoutMs - (nowUs - exchange.sentUs) / 1_000;
      if (leftMs > 0) {
        // Timers may fire early; the sweep then runs once more for the same exchange.
        this.#deadline = setTimeout(this.#sweep, Math.ceil(leftMs));
        break;
      }
      exchange.giveUp();
      carrier.abandon(exchange);
      this.#countError(exchange, 'timed out', `no complete response within ${timeoutMs} ms`);
      this.#inFlight.delete(exchange);
      this.#carriers.give(carrier);
    }
    this.#pump();
    if (this.isIdle) onIdle();
  };

  #countError(exchange: HttpExchange, kind: ErrorKind, message: string): void {
    this.#options.tallyOf(exchange.dueUs).countError(kind, message, exchange.dueUs);
    // Timed-out requests are the slowest. Percentiles without them would be too low.
    if (kind === 'timed out') this.#recordTimes(exchange);
  }

  #recordTimes({ dueUs, sentUs }: HttpExchange): void {
    const { tallyOf, now } = this.#options;
    const nowUs = now();
    const tally = tallyOf(dueUs);
    tally.recordLatency(dueUs, nowUs - dueUs);
    tally.record('response', nowUs - sentUs);
  }
}
