import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Decision } from '../../limiters/state.ts';
import { checkFunction } from '../../options.ts';
import { addressKey } from './address-key.ts';
import { answerWith, put } from './answer.ts';
import { Gate } from './gate.ts';
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
  const gate = new Gate<Request>(options, addressKey());
  checkFunction('listener', listener);
  const { handler } = options;
  return (request, response) => {
    // Errors of the listener and the handler reach the caller, or are unhandled rejections.
    gate.judge(request, (ruling) => {
      if ('passes' in ruling) {
        if (ruling.ended) untilEnd(request, response, ruling.ended);
        put(response, ruling.passes);
        return listener(request, response);
      }
      const isFailed = 'error' in ruling;
      const answer = isFailed ? gate.failed(ruling.error, request) : ruling.answer;
      const handled = handler && ((decision: Decision) => handler(request, response, decision));
      return answerWith(response, answer, handled);
    });
  };
}
