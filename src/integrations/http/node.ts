import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Decision } from '../../limiters/decision.ts';
import { type ExpressLimitOptions, expressMiddleware } from './express.ts';
import type { RequestLimitOptions } from './options.ts';

/** Options of {@link nodeListener}. */
export interface NodeLimitOptions<Request extends IncomingMessage = IncomingMessage>
  extends RequestLimitOptions<Request> {
  /**
   * Answers a request that is refused, in place of the text. Status 429 and all fields are set; the
   * handler may change them.
   */
  readonly handler?: (request: Request, response: ServerResponse, decision: Decision) => unknown;
}

/**
 * Wraps a listener of a server of node:http or node:https: it gets the requests that their limit
 * admits. The others are answered with 429.
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
 * @throws TypeError, RangeError for an invalid option, naming it.
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
    // Anything else than a function is reported as such.
    ...(handler !== undefined && { handler: typeof handler === 'function' ? answer : handler }),
  });
  return (request, response) =>
    limited(request, response, (error) => {
      // As if an async listener had failed.
      if (error !== undefined) throw error;
      listener(request, response);
    });
}
