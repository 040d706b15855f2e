import type { Dispatcher } from 'undici';
import { type Handler, isModern } from './watched.ts';

/**
 * The controller with which a handler can abort its waiting request. When the request starts,
 * undici passes another one, as it does for repeated requests.
 */
export class Pending implements Dispatcher.DispatchController {
  rawHeaders = null;
  rawTrailers = null;
  paused = false;
  readonly #handler: Handler;
  readonly #end = new AbortController();
  #abortStarted: ((reason: Error) => void) | undefined;

  constructor(handler: Handler) {
    this.#handler = handler;
  }

  /** Aborts with the reason of {@link abort}. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  get aborted(): boolean {
    return this.signal.aborted;
  }

  get reason(): Error | null {
    return this.signal.reason ?? null;
  }

  abort(reason?: Error): void {
    const isFirst = !this.aborted;
    this.#end.abort(reason);
    if (isFirst) this.#abortStarted?.(this.signal.reason);
  }

  pause(): void {}

  resume(): void {}

  /** Passes this controller to the handler, which may abort from now on. */
  announce(): void {
    if (isModern(this.#handler)) this.#handler.onRequestStart?.(this, null);
    else this.#handler.onConnect?.((reason) => this.abort(reason));
  }

  /** Forwards aborts to the started request. */
  started(abort: (reason: Error) => void): void {
    this.#abortStarted = abort;
    if (this.aborted) abort(this.signal.reason);
  }

  /** Fails the request before it has started. */
  fail(error: unknown): void {
    // Undici's types require an Error, but a signal's reason may be anything.
    if (isModern(this.#handler)) this.#handler.onResponseError?.(this, error as Error);
    else this.#handler.onError?.(error as Error);
  }
}
