import type { Dispatcher } from 'undici';
import type { Turn } from '../outgoing/turns.ts';

/** An undici handler. */
export type Handler = Parameters<Dispatcher['dispatch']>[1];

/** Whether the handler has the methods of undici 7 and 8, rather than undici 6. */
function isModern(handler: Handler): boolean {
  return typeof handler.onRequestStart === 'function';
}

/** Methods that undici calls on handlers, some of which it does not declare. */
const OF_ALL = ['onBodySent', 'onRequestSent', 'onResponseStarted'];
const OF_MODERN = ['onResponseData', ...OF_ALL];
const OF_LEGACY = ['onData', ...OF_ALL];
/** What undici 6 takes for a request to pause the body if it is not true. */
const UNPAUSED = ['onHeaders', 'onData'];

type Methods = Readonly<Record<string, (...args: never[]) => unknown>>;

/** A handler that calls its own methods first, and then those of another, which may lack some. */
function before(handler: Handler, own: Handler, others: readonly string[]): Handler {
  const [first, then] = [own as Methods, handler as Methods];
  const methodOf =
    (name: string) =>
    (...args: never[]) => {
      first[name]?.(...args);
      return then[name]?.(...args) ?? (UNPAUSED.includes(name) || undefined);
    };
  const names = [...Object.keys(own), ...others];
  return Object.fromEntries(names.map((name) => [name, methodOf(name)])) as Handler;
}

function text(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value[0] : value;
}

/** Reads a field from alternating names and values. */
function field(headers: readonly Buffer[], name: string): string | undefined {
  const at = headers.findIndex((part, i) => i % 2 === 0 && `${part}`.toLowerCase() === name);
  return at < 0 ? undefined : `${headers[at + 1]}`;
}

/**
 * Wraps the handler of a request that starts: its `pending` can abort it from now on, and its turn
 * hears of the response and of the end, which may come more than once.
 */
export function watched(handler: Handler, pending: Pending, turn: Turn): Handler {
  const ended = () => turn.ended();
  if (isModern(handler)) {
    const modern: Dispatcher.DispatchHandler = {
      onRequestStart: (controller) => pending.started((reason) => controller.abort(reason)),
      onRequestUpgrade: (_controller, _status, _headers, socket) => socket.once('close', ended),
      onResponseStart(_controller, status, { 'retry-after': retryAfter, date }) {
        turn.answered({ status, retryAfter: text(retryAfter), date: text(date) });
      },
      onResponseEnd: ended,
      onResponseError: (_controller, error) => turn.ended([error]),
    };
    return before(handler, modern, OF_MODERN);
  }
  const legacy: Handler = {
    onConnect: (abort: (reason?: Error) => void) => pending.started(abort),
    onUpgrade: (_status, _headers, socket) => socket.once('close', ended),
    onHeaders(status, headers) {
      const answer = { retryAfter: field(headers, 'retry-after'), date: field(headers, 'date') };
      turn.answered({ status, ...answer });
      return true;
    },
    onComplete: ended,
    onError: (error) => turn.ended([error]),
  };
  return before(handler, legacy, OF_LEGACY);
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
