import { errorKind } from '../measure/errors.ts';
import type { LoadThreadData } from '../threads/messages.ts';
import {
  type Carrier,
  type Carriers,
  ConnectionPool,
  HttpExchange,
  type Outcome,
  requestTemplate,
  type TargetOptions,
} from './connection.ts';
import { Http2Sessions } from './http2.ts';
import { type Queued, QueuedWork, type QueuedWorkOptions, type WorkHooks } from './queued-work.ts';

export interface SenderOptions extends QueuedWorkOptions, TargetOptions {}

/** Sends requests over a limited number of connections. */
export class Sender extends QueuedWork<HttpExchange, Carrier> {
  readonly #options: SenderOptions;
  readonly #carriers: Carriers;
  readonly #carrierOf = new Map<HttpExchange, Carrier>();
  #soon: NodeJS.Immediate | undefined;

  constructor(options: SenderOptions) {
    super(options);
    this.#options = options;
    this.#carriers = this.#isHttp2 ? new Http2Sessions(options) : new ConnectionPool(options);
  }

  get #isHttp2(): boolean {
    return this.#options.transport?.http2 === true;
  }

  get capacity(): number {
    return this.#carriers.capacity;
  }

  /**
   * Opens the first `count` connections. One that is not open in time is opened by its first
   * request.
   */
  open(count: number, timeoutMs: number): Promise<void> {
    return this.#carriers.open(count, timeoutMs);
  }

  override close(): void {
    super.close();
    this.#carriers.close();
  }

  protected get noRoom(): string {
    return `no ${this.#isHttp2 ? 'stream' : 'connection'} was free until the end of the run`;
  }

  protected get tooLong(): string {
    return `no complete response within ${this.#options.timeoutMs} ms`;
  }

  protected room(): Carrier | undefined {
    return this.#carriers.take();
  }

  protected start(next: Queued, carrier: Carrier): void {
    const exchange = new HttpExchange(next.dueUs, this.#options.now(), this.#end);
    this.#carrierOf.set(exchange, carrier);
    this.begin(exchange, next);
    carrier.dispatch(exchange);
  }

  protected cancel(exchange: HttpExchange): void {
    exchange.giveUp();
    this.#carrierOf.get(exchange)?.abandon(exchange);
    this.#release(exchange);
  }

  readonly #end = (exchange: HttpExchange, outcome: Outcome): void => {
    this.leave(exchange);
    if (outcome.ended === 'response') {
      this.#options.tallyOf(exchange.dueUs).countStatus(outcome.status, exchange.dueUs);
      this.recordTimes(exchange);
    } else this.fail(exchange, errorKind(outcome.error), outcome.error.message);
    this.#release(exchange);
    // During an error, undici is still failing its pending requests: a new request would trip an
    // assertion.
    if (outcome.ended === 'error') this.#pumpSoon();
    else this.pump();
    this.tellIdle();
  };

  #release(exchange: HttpExchange): void {
    const carrier = this.#carrierOf.get(exchange);
    this.#carrierOf.delete(exchange);
    if (carrier !== undefined) this.#carriers.give(carrier);
  }

  #pumpSoon(): void {
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.pump();
    });
  }
}

/** A connection that takes longer to open is opened by its first request. */
const OPEN_MS = 2_000;

/** Creates a sender and opens its first connections. */
export async function openSender(data: LoadThreadData, hooks: WorkHooks): Promise<Sender> {
  const { url, connections, openAhead, request, timeoutMs, transport } = data;
  const target = new URL(url);
  const sender = new Sender({
    ...hooks,
    origin: target.origin,
    host: request.headers.find(([name]) => name.toLowerCase() === 'host')?.[1],
    request: requestTemplate(target, request),
    connections,
    transport,
    timeoutMs,
  });
  await sender.open(openAhead, Math.min(timeoutMs, OPEN_MS));
  return sender;
}
