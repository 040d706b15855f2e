import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Decision } from '../../limiters/state.ts';
import { checkFunction } from '../../options.ts';
import type { Fields } from './fields.ts';
import { Gate, type Refused } from './gate.ts';
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

/** Sets fields. After a timeout elsewhere, the response may already be sent. */
function put(response: ServerResponse, fields: Fields): void {
  if (response.headersSent) return;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) response.removeHeader(name);
    else response.setHeader(name, value);
  }
}

/** What a server makes of a ruling. */
interface Server {
  pass(): unknown;
  /** Answers a request with the error of a function of the options, or returns the answer. */
  fail(error: unknown): Refused | undefined;
  /** Responds to a request that exceeds its limit. */
  readonly handle: ((decision: Decision) => unknown) | undefined;
}

/** Limits a request of node:http, or of a framework with its requests and responses. */
export function judged<Request extends IncomingMessage>(
  gate: Gate<Request>,
  request: Request,
  response: ServerResponse,
  { pass, fail, handle }: Server,
): unknown {
  return gate.judge(request, (ruling) => {
    if ('passes' in ruling) {
      if (ruling.ended) untilEnd(request, response, ruling.ended);
      put(response, ruling.passes);
      return pass();
    }
    const refused = 'error' in ruling ? fail(ruling.error) : ruling;
    if (refused === undefined) return undefined;
    const { status, fields, contentType, body, decision } = refused.answer;
    const isHandled = handle !== undefined && decision !== undefined;
    if (response.headersSent && !isHandled) return undefined;
    put(response, fields);
    response.statusCode = status;
    if (isHandled) return handle(decision);
    response.setHeader('Content-Type', contentType);
    response.end(body);
    return undefined;
  });
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
    judged(gate, request, response, {
      pass: () => listener(request, response),
      fail: (error) => gate.failed(error, request),
      handle: handler && ((decision) => handler(request, response, decision)),
    });
  };
}
