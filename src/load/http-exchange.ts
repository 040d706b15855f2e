import type { Dispatcher } from 'undici';

/** How an exchange ended: with a response, whatever its status, or with an error. */
export type Outcome =
  | { readonly ended: 'response'; readonly status: number }
  | { readonly ended: 'error'; readonly error: Error };

/** One request and its response, as an undici handler that discards the body. */
export class HttpExchange implements Dispatcher.DispatchHandler {
  readonly dueUs: number;
  readonly sentUs: number;
  readonly #onEnd: (exchange: HttpExchange, outcome: Outcome) => void;
  #status = 0;
  #ended = false;

  constructor(
    dueUs: number,
    sentUs: number,
    onEnd: (exchange: HttpExchange, outcome: Outcome) => void,
  ) {
    this.dueUs = dueUs;
    this.sentUs = sentUs;
    this.#onEnd = onEnd;
  }

  /** Does nothing. Undici recognizes its current handler interface by this method. */
  onRequestStart(): void {}

  onResponseStart(_controller: unknown, status: number): void {
    this.#status = status;
  }

  onResponseData(): void {}

  onResponseEnd(): void {
    this.#end({ ended: 'response', status: this.#status });
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#end({ ended: 'error', error });
  }

  /** Ends the exchange and ignores later events from undici. */
  giveUp(): void {
    this.#ended = true;
  }

  #end(outcome: Outcome): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd(this, outcome);
  }
}
