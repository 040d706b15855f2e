import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Decision } from '../../limiters/decision.ts';
import { type ExpressLimitOptions, expressMiddleware } from './express.ts';
import type { RequestLimitOptions } from './options.ts';

/** Options of {@link nodeListener}. */
export interface NodeLimitOptions<Request extends IncomingMessage = IncomingMessage>
  extends RequestLimitOptions<Request> {
  /**
   * Sends the response to a refused request. Status 429 and all header fields are already set; the
   * handler may change them. Default: sends a line of text.
   */
  readonly handler?: (request: Request, response: ServerResponse, decision: Decision) => unknown;
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
  const { handler, ...limits } = options;
  const answer: ExpressLimitOptions<Request, Response>['handler'] = (
    request,
    response,
    _,
    decision,
  ) => handler?.(request, response, decision);
  const limited = expressMiddleware<Request, Response>({
    ...limits,
    // Pass on an invalid handler, so that the options check reports it.
    ...(handler !== undefined && { handler: typeof handler === 'function' ? answer : handler }),
  });
  return (request, response) =>
    limited(request, response, (error) => {
      // As if an async listener had failed.
      if (error !== undefined) throw error;
      listener(request, response);
    });
}
