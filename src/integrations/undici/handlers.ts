import type { Dispatcher } from 'undici';
import type { Turn } from '../outgoing/turns.ts';

/** An undici handler. */
export type Handler = Parameters<Dispatcher['dispatch']>[1];
type Modern = Required<Dispatcher.DispatchHandler>;
/** Methods that undici calls on some handlers but does not declare. */
interface Undeclared {
  onRequestSent?(): void;
  onResponseStarted?(): void;
}

/** Whether the handler has the methods of undici 7 and 8, rather than undici 6. */
function isModern(handler: Handler): boolean {
  return typeof handler.onRequestStart === 'function';
}

/**
 * Wraps the handler of a request that starts: its `pending` can abort it from now on, and its turn
 * hears of the response and of the end, which may come more than once.
 */
export function watched(handler: Handler, pending: Pending, turn: Turn): Handler {
  return isModern(handler) ? modern(handler, pending, turn) : legacy(handler, pending, turn);
}

function text(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value[0] : value;
}

function modern(handler: Handler & Undeclared, pending: Pending, turn: Turn): Handler & Undeclared {
  return {
    onRequestStart(controller, context) {
      pending.started((reason) => controller.abort(reason));
      handler.onRequestStart?.(controller, context);
    },
    onRequestUpgrade(controller, status, headers, socket) {
      socket.once('close', () => turn.ended());
      handler.onRequestUpgrade?.(controller, status, headers, socket);
    },
    onResponseStart(controller, status, headers, message) {
      const { 'retry-after': retryAfter, date } = headers;
      turn.answered({ status, retryAfter: text(retryAfter), date: text(date) });
      handler.onResponseStart?.(controller, status, headers, message);
    },
    onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
    onResponseEnd(controller, trailers) {
      turn.ended();
      handler.onResponseEnd?.(controller, trailers);
    },
    onResponseError(controller, error) {
      turn.ended([error]);
      handler.onResponseError?.(controller, error);
    },
    onBodySent: (size, total) => handler.onBodySent?.(size, total),
    onRequestSent: () => handler.onRequestSent?.(),
    onResponseStarted: () => handler.onResponseStarted?.(),
  } satisfies Partial<Modern> & Undeclared;
}

/** Reads a field from alternating names and values. */
function field(headers: readonly Buffer[], name: string): string | undefined {
  const at = headers.findIndex((part, i) => i % 2 === 0 && `${part}`.toLowerCase() === name);
  return at < 0 ? undefined : `${headers[at + 1]}`;
}

function legacy(handler: Handler & Undeclared, pending: Pending, turn: Turn): Handler & Undeclared {
  return {
    onConnect(abort: (reason?: Error) => void, ...context: []) {
      pending.started(abort);
      handler.onConnect?.(abort, ...context);
    },
    onUpgrade(status, headers, socket) {
      socket.once('close', () => turn.ended());
      handler.onUpgrade?.(status, headers, socket);
    },
    onResponseStarted: () => handler.onResponseStarted?.(),
    onHeaders(status, headers, resume, message) {
      const answer = { retryAfter: field(headers, 'retry-after'), date: field(headers, 'date') };
      turn.answered({ status, ...answer });
      return handler.onHeaders?.(status, headers, resume, message) ?? true;
    },
    onData: (chunk) => handler.onData?.(chunk) ?? true,
    onComplete(trailers) {
      turn.ended();
      handler.onComplete?.(trailers);
    },
    onError(error) {
      turn.ended([error]);
      handler.onError?.(error);
    },
    onBodySent: (size, total) => handler.onBodySent?.(size, total),
    onRequestSent: () => handler.onRequestSent?.(),
  };
}

type Body = Dispatcher.DispatchOptions['body'];

/**
 * Calls `listener` if a stream body fails: undici only listens once the request starts, and an
 * error without a listener ends the process. Returns a function that removes the listener.
 */
export function onBodyError(body: Body, listener: (error: Error) => void): () => void {
  if (typeof body !== 'object' || body === null || !('on' in body)) return () => undefined;
  body.on('error', listener);
  return () => void body.off('error', listener);
}

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

  /** Forwards aborts to the started request. May be called more than once. */
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
