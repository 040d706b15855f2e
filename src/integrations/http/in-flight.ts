import type { ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { CallOutcome } from '../../limiters/adaptation.ts';
import type { LimitedSemaphore } from '../../limiters/limited-semaphore.ts';
import type { Permit } from '../../limiters/permit.ts';
import type { Semaphore } from '../../limiters/semaphore.ts';
import type { Decision } from '../../limiters/state.ts';

// A permit belongs to a request until its response has ended or its connection has closed. The two
// events come in any number and order, or not at all for a response that has no connection yet.

/** A `Semaphore`, also one that adapts, or an `allOf` of a semaphore and limiters. */
export type InFlightLimiter = Semaphore | LimitedSemaphore;

/** Detects a semaphore without importing the classes. */
export function isInFlight(limiter: object | undefined | null): limiter is InFlightLimiter {
  return typeof (limiter as Partial<InFlightLimiter> | undefined | null)?.tryAcquire === 'function';
}

/** What a request took from a semaphore, and from the limiters of an `allOf`. */
export class Entry {
  readonly #limiter: InFlightLimiter;
  /** Undefined if nothing was taken. */
  readonly permit: Permit | undefined;
  /** The decision of the limiters; undefined if there are none, or no permit was free. */
  readonly decision: Decision | undefined;

  /** Takes a permit and `n` tokens now; or `n` permits, if the semaphore has no limiters. */
  constructor(limiter: InFlightLimiter, n: number) {
    this.#limiter = limiter;
    if ('admit' in limiter) ({ permit: this.permit, decision: this.decision } = limiter.admit(n));
    else this.permit = limiter.tryAcquire(n);
  }

  /** The refusal if no permit was free. When one comes back is unknown. */
  get full(): Decision {
    const unknown = Number.POSITIVE_INFINITY;
    return {
      ...{ allowed: false, limit: this.#limiter.permits, remaining: this.#limiter.available() },
      ...{ retryAfterMs: unknown, resetMs: unknown, nextTokenMs: unknown },
    };
  }
}

/** Called once: with the status of a response that has ended, or without if it was cut off. */
export type Ended = (status: number | undefined) => void;

/** The outcome of a request, for a semaphore that adapts. */
export function outcomeOfResponse(status: number | undefined): CallOutcome {
  if (status === 503 || status === 504) return 'dropped';
  // A client that left or exceeds a limit of its own tells nothing about the server.
  return status === undefined || status === 429 ? 'ignore' : 'ok';
}

/** A response of node:http or node:http2, whose types differ. */
type AnyResponse = Pick<ServerResponse, 'statusCode' | 'once'> & {
  readonly destroyed?: boolean;
  readonly writableEnded?: boolean;
  readonly writableFinished?: boolean;
  /** Null while earlier responses of a pipelined connection have not ended. */
  readonly socket?: object | null;
  /** Of node:http2. */
  readonly stream?: Pick<ServerHttp2Stream, 'closed' | 'destroyed' | 'once'>;
};

/** What to call when a connection closes, of responses that do not have it yet. */
const waiting = /* @__PURE__ */ new WeakMap<object, Set<() => void>>();

/** Calls `closed` when the connection closes. Returns a function that cancels this. */
function onClose(socket: Socket, closed: () => void): () => void {
  let all = waiting.get(socket);
  if (all === undefined) {
    const calls = new Set<() => void>();
    all = calls;
    waiting.set(socket, calls);
    socket.once('close', () => {
      for (const call of calls) call();
    });
  }
  all.add(closed);
  return () => void all.delete(closed);
}

/** Calls `ended` when the response has ended or its connection has closed, or at once if it has. */
export function untilEnd(
  request: { readonly socket?: object | null | undefined },
  response: AnyResponse,
  ended: Ended,
): void {
  let isOver = false;
  let cancel: (() => void) | undefined;
  const { stream } = response;
  // The stream of a response to HEAD has finished from the start, before the response has ended.
  const isWritten = () => response.writableEnded === true && response.writableFinished === true;
  const end = (isWhole: boolean) => {
    if (isOver) return;
    isOver = true;
    cancel?.();
    ended(isWhole ? response.statusCode : undefined);
  };
  response.once('finish', () => end(stream === undefined || isWritten()));
  response.once('close', () => end(false));
  // http2 emits `finish` for streams that were reset, too; nothing but `close` of the stream for a
  // HEAD; and only `end` if a client resets without an error what cannot be written.
  stream?.once('close', () => end(isWritten()));
  stream?.once('end', () => stream.closed && end(isWritten()));
  // No event comes after the end of a response, nor for one that never gets its connection.
  if (isWritten()) end(true);
  else if (response.destroyed === true || stream?.destroyed === true) end(false);
  else if (response.socket === null && request.socket) {
    const socket = request.socket as Socket; // requests of Node.js have one
    if (socket.destroyed) end(false);
    else cancel = onClose(socket, () => end(false));
  }
}
