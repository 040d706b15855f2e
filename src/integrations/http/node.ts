import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Decision } from '../../limiters/state.ts';
import { checkFunction } from '../../options.ts';
import { Gate, type Server } from './gate.ts';
import { untilEnd } from './in-flight.ts';
import type { RequestLimitOptions } from './options.ts';

/** Options of {@link nodeListener}. */
export interface NodeLimitOptions<Request extends IncomingMessage = IncomingMessage>
  extends RequestLimitOptions<Request> {
  /**
   * Sends the response to a refused request. Its status, 429 or 503 if no permit was free, and all
   * header fields are already set; the handler may change them. Default: sends a line of text.
   */
  readonly handler?: (request: Request, response: ServerResponse, decision: Decision) => unknown;
}

/** Responds as node:http does, or a framework with its responses; `next` gets what passes. */
export function responding(
  request: IncomingMessage,
  response: ServerResponse,
  next: () => unknown,
): Pick<Server, 'pass' | 'set' | 'status' | 'send'> {
  return {
    pass(ended) {
      if (ended) untilEnd(request, response, ended);
      return next();
    },
    // After a timeout elsewhere, the response may already be sent.
    set(name, value) {
      if (response.headersSent) return;
      if (value === undefined) response.removeHeader(name);
      else response.setHeader(name, value);
    },
    status(status) {
      response.statusCode = status;
    },
    send: (body) => response.headersSent || response.end(body),
  };
}

/**
 * Wraps a request listener of node:http or node:https. The listener gets the admitted requests; the
 * others get a response with status 429.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { nodeListener } from 'zerotime/http';
 *
 * const limiter = KeyedTokenBucket.create({ rate: 10, burst: 20, capacity: 100_000 });
 * const server = createServer(
 *   nodeListener({ limiter }, (request, response) => {
 *     response.end('Hello\n');
 *   }),
 * );
 * ```
 * @throws TypeError, RangeError for an invalid option.
 */
export function nodeListener<
  Request extends IncomingMessage = IncomingMessage,
  Response extends ServerResponse = ServerResponse,
>(
  options: NodeLimitOptions<Request>,
  listener: (request: Request, response: Response) => unknown,
): (request: Request, response: Response) => void {
  const gate = new Gate<Request>(options);
  checkFunction('listener', listener);
  const { handler } = options;
  return (request, response) => {
    // Errors of the listener and the handler reach the caller, or are unhandled rejections.
    gate.serve(request, {
      ...responding(request, response, () => listener(request, response)),
      fail: (error) => gate.failed(error, request),
      handle: handler && ((decision) => handler(request, response, decision)),
    });
  };
}
