import { errorKind } from '../measure/errors.ts';
import type { RequestOptions } from '../plan/options.ts';
import type { LoadThreadData } from '../threads/messages.ts';
import type { Carrier, Carriers, HttpExchange, Outcome } from './carrier.ts';
import { ConnectionPool } from './connection.ts';
import { Http2Sessions } from './http2.ts';
import {
  type InFlight,
  type Queued,
  QueuedWork,
  type QueuedWorkOptions,
  type WorkHooks,
} from './queued-work.ts';

export interface SenderOptions extends QueuedWorkOptions, RequestOptions {}

/** A request in flight. */
interface SentRequest extends InFlight, HttpExchange {
  readonly carrier: Carrier;
}

/** Sends requests over a limited number of connections. */
export class Sender extends QueuedWork<SentRequest, Carrier> {
  readonly #options: SenderOptions;
  readonly #carriers: Carriers;

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
    const one: SentRequest = {
      dueUs: next.dueUs,
      startedUs: this.#options.now(),
      carrier,
      end: (outcome) => this.#end(one, outcome),
    };
    this.begin(one, next);
    carrier.dispatch(one);
  }

  protected cancel(one: SentRequest): void {
    one.carrier.abandon(one);
    this.#carriers.give(one.carrier);
  }

  #end(one: SentRequest, outcome: Outcome): void {
    // It has ended already, or timed out.
    if (!this.leave(one)) return;
    if (typeof outcome === 'number') {
      this.#options.tallyOf(one.dueUs).countStatus(outcome, one.dueUs);
      this.recordTimes(one);
    } else this.fail(one, errorKind(outcome), outcome.message);
    this.#carriers.give(one.carrier);
    this.pump();
    this.tellIdle();
  }
}

/** A connection that takes longer to open is opened by its first request. */
const OPEN_MS = 2_000;

/** Creates a sender and opens its first connections. */
export async function openSender(data: LoadThreadData, hooks: WorkHooks): Promise<Sender> {
  const sender = new Sender({ ...data, ...hooks });
  await sender.open(data.openAhead, Math.min(data.timeoutMs, OPEN_MS));
  return sender;
}
