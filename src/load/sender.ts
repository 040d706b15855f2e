import { Connection, type RequestTemplate } from './connection.ts';
import { type ErrorKind, errorKind } from './error-kind.ts';
import { Fifo } from './fifo.ts';
import { HttpExchange, type Outcome } from './http-exchange.ts';
import type { Work, WorkHooks } from './work.ts';

export interface SenderOptions extends WorkHooks {
  readonly origin: string;
  /** The Host header, if it is not the origin's. */
  readonly host?: string | undefined;
  readonly request: RequestTemplate;
  readonly connections: number;
  readonly timeoutMs: number;
}

interface QueuedRequest {
  readonly dueUs: number;
  readonly queuedUs: number;
}

/**
 * Sends requests over a limited number of connections. If all are busy, a request is queued with
 * its due instant and its latency counts from there, so that a stalled server cannot hide behind
 * requests that were never sent.
 */
export class Sender implements Work {
  readonly #options: SenderOptions;
  readonly #free: Connection[];
  /** In order of sending, and so of their deadlines. */
  readonly #inFlight = new Map<HttpExchange, Connection>();
  readonly #queue = new Fifo<QueuedRequest>();
  #pumping = false;
  #soon: NodeJS.Immediate | undefined;
  #deadline: NodeJS.Timeout | undefined;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#free = Array.from(
      { length: options.connections },
      () => new Connection(options.origin, options.host),
    );
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  get queued(): number {
    return this.#queue.length;
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0 && this.#queue.length === 0;
  }

  /** Opens the first `count` connections; what can't be opened in time is left to its first request. */
  async open(count: number, timeoutMs: number): Promise<void> {
    // The last one is used first.
    const first = this.#free.slice(-count);
    await Promise.all(first.map((connection) => connection.open(timeoutMs)));
  }

  /** Sends or queues a request that is due. */
  send(dueUs: number, nowUs: number): void {
    this.#queue.push({ dueUs, queuedUs: nowUs });
    this.#pump();
  }

  /** Drops the queued requests: each counts as `unsent`, with the time that it has waited. */
  dropQueue(): void {
    const { tallyOf, now } = this.#options;
    const nowUs = now();
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const tally = tallyOf(next.dueUs);
      tally.countError('unsent', 'no connection was free until the end of the run', next.dueUs);
      tally.record('queued', nowUs - next.queuedUs);
      tally.recordLatency(next.dueUs, nowUs - next.dueUs);
    }
  }

  close(): void {
    clearTimeout(this.#deadline);
    for (const connection of this.#free) connection.reset();
  }

  #pump(): void {
    // An exchange that fails at once re-enters here from its dispatch. Return, and let the outer
    // call continue with the queue; otherwise the stack would grow with every such failure.
    if (this.#pumping) return;
    this.#pumping = true;
    while (this.#queue.length > 0) {
      // The last one freed is open and warm, and surplus connections are never opened.
      const connection = this.#free.pop();
      if (connection === undefined) break;
      const next = this.#queue.shift();
      if (next !== undefined) this.#start(connection, next);
    }
    this.#pumping = false;
  }

  #start(connection: Connection, { dueUs, queuedUs }: QueuedRequest): void {
    const { request, tallyOf, now, timeoutMs } = this.#options;
    const tally = tallyOf(dueUs);
    const sentUs = now();
    const exchange = new HttpExchange(dueUs, sentUs, this.#end);
    this.#inFlight.set(exchange, connection);
    tally.counters.sent += 1;
    tally.record('queued', sentUs - queuedUs);
    this.#deadline ??= setTimeout(this.#sweep, timeoutMs);
    connection.dispatch(request, exchange);
  }

  readonly #end = (exchange: HttpExchange, outcome: Outcome): void => {
    const { tallyOf, onIdle } = this.#options;
    if (outcome.ended === 'response') {
      tallyOf(exchange.dueUs).countStatus(outcome.status, exchange.dueUs);
      this.#recordTimes(exchange);
    } else {
      this.#countError(exchange, errorKind(outcome.error), outcome.error.message);
    }
    const connection = this.#inFlight.get(exchange);
    this.#inFlight.delete(exchange);
    if (connection !== undefined) this.#free.push(connection);
    // On an error undici is still failing its pending requests, and a new request at that point
    // trips an assertion. After a response it is ready.
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

  /**
   * Times out overdue exchanges and sleeps until the next deadline: one timer for all exchanges.
   */
  readonly #sweep = (): void => {
    const { now, timeoutMs, onIdle } = this.#options;
    const nowUs = now();
    this.#deadline = undefined;
    for (const [exchange, connection] of this.#inFlight) {
      const leftMs = timeoutMs - (nowUs - exchange.sentUs) / 1_000;
      if (leftMs > 0) {
        // Timers may fire early; the sweep then runs once more for the same exchange.
        this.#deadline = setTimeout(this.#sweep, Math.ceil(leftMs));
        break;
      }
      exchange.giveUp();
      connection.reset();
      this.#countError(exchange, 'timed out', `no complete response within ${timeoutMs} ms`);
      this.#inFlight.delete(exchange);
      this.#free.push(connection);
    }
    this.#pump();
    if (this.isIdle) onIdle();
  };

  #countError(exchange: HttpExchange, kind: ErrorKind, message: string): void {
    this.#options.tallyOf(exchange.dueUs).countError(kind, message, exchange.dueUs);
    // Without timed-out requests, which are the slowest, the percentiles would look better than
    // they are.
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
