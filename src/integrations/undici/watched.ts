import type { Dispatcher } from 'undici';
import type { Answer } from '../outgoing/retry-after.ts';

/** What undici reports about a request, and what the library or user behind it takes. */
export type Handler = Parameters<Dispatcher['dispatch']>[1];
type Modern = Required<Dispatcher.DispatchHandler>;
/** The calls that undici makes to some handlers without declaring them. */
interface Undeclared {
  onRequestSent?(): void;
  onResponseStarted?(): void;
}

/** Who wants to know how a request goes. */
export interface Watcher {
  /** The request is about to be written. May be called more than once. */
  started(abort: (reason: Error) => void): void;
  answered(answer: Answer): void;
  /** The response has ended or failed. May be called more than once. */
  ended(): void;
}

/** Undici 7 and 8 call other methods than undici 6. */
export function isModern(handler: Handler): boolean {
  return typeof handler.onRequestStart === 'function';
}

/** Returns a handler that also reports to a watcher. */
export function watched(handler: Handler, watcher: Watcher): Handler {
  return isModern(handler) ? modern(handler, watcher) : legacy(handler, watcher);
}

function text(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value[0] : value;
}

function modern(handler: Handler & Undeclared, watcher: Watcher): Handler & Undeclared {
  return {
    onRequestStart(controller, context) {
      watcher.started((reason) => controller.abort(reason));
      handler.onRequestStart?.(controller, context);
    },
    onRequestUpgrade(controller, status, headers, socket) {
      socket.once('close', () => watcher.ended());
      handler.onRequestUpgrade?.(controller, status, headers, socket);
    },
    onResponseStart(controller, status, headers, message) {
      const { 'retry-after': retryAfter, date } = headers;
      watcher.answered({ status, retryAfter: text(retryAfter), date: text(date) });
      handler.onResponseStart?.(controller, status, headers, message);
    },
    onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
    onResponseEnd(controller, trailers) {
      watcher.ended();
      handler.onResponseEnd?.(controller, trailers);
    },
    onResponseError(controller, error) {
      watcher.ended();
      handler.onResponseError?.(controller, error);
    },
    onBodySent: (size, total) => handler.onBodySent?.(size, total),
    onRequestSent: () => handler.onRequestSent?.(),
    onResponseStarted: () => handler.onResponseStarted?.(),
  } satisfies Partial<Modern> & Undeclared;
}

/** Names and values in turn. */
function field(headers: readonly Buffer[], name: string): string | undefined {
  const at = headers.findIndex((part, i) => i % 2 === 0 && `${part}`.toLowerCase() === name);
  return at < 0 ? undefined : `${headers[at + 1]}`;
}

function legacy(handler: Handler & Undeclared, watcher: Watcher): Handler & Undeclared {
  return {
    onConnect(abort: (reason?: Error) => void, ...context: []) {
      watcher.started(abort);
      handler.onConnect?.(abort, ...context);
    },
    onUpgrade(status, headers, socket) {
      socket.once('close', () => watcher.ended());
      handler.onUpgrade?.(status, headers, socket);
    },
    onResponseStarted: () => handler.onResponseStarted?.(),
    onHeaders(status, headers, resume, message) {
      const answer = { retryAfter: field(headers, 'retry-after'), date: field(headers, 'date') };
      watcher.answered({ status, ...answer });
      return handler.onHeaders?.(status, headers, resume, message) ?? true;
    },
    onData: (chunk) => handler.onData?.(chunk) ?? true,
    onComplete(trailers) {
      watcher.ended();
      handler.onComplete?.(trailers);
    },
    onError(error) {
      watcher.ended();
      handler.onError?.(error);
    },
    onBodySent: (size, total) => handler.onBodySent?.(size, total),
    onRequestSent: () => handler.onRequestSent?.(),
  };
}
