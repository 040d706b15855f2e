import type { Dispatcher } from 'undici';

/** How an exchange ended: with a response, whatever its status, or with an error. */
export type Outcome =
  | { readonly ended: 'response'; readonly status: number }
  | { readonly ended: 'error'; readonly error: Error };

/**
 * One request and its response, as undici's handler: the body is read and thrown away.
 */
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

  /** Empty, but undici tells the present form of handlers from the old one by it. */
  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(): void {}

  onResponseEnd(): void {
    this.#end({ ended: 'response', status: this.#status });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end({ ended: 'error', error });
  }

  /** Makes it deaf to what undici may still report: the exchange is over. */
  giveUp(): void {
    this.#ended = true;
  }

  #end(outcome: Outcome): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd(this, outcome);
  }
}
