import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Decision } from '../../limiters/decision.ts';
import { addressKey } from './address-key.ts';
import { Gate } from './gate.ts';
import type { RequestLimitOptions } from './options.ts';
import { answerWith, put } from './response.ts';

/** A request of express, or of another server with the same middleware signature. */
export type ExpressRequest = IncomingMessage & {
  /** The client's address, which express determines by its setting `trust proxy`. */
  readonly ip?: string | undefined;
};

/** Options of {@link expressMiddleware}. */
export interface ExpressLimitOptions<
  Request extends ExpressRequest = ExpressRequest,
  Response extends ServerResponse = ServerResponse,
> extends RequestLimitOptions<Request> {
  /**
   * Sends the response to a refused request. Status 429 and all header fields are already set; the
   * handler may change them, or call `next`. Default: sends a line of text.
   */
  readonly handler?: (
    request: Request,
    response: Response,
    next: (error?: unknown) => void,
    decision: Decision,
  ) => unknown;
}

/**
 * A middleware for express 4 and 5, and for compatible servers. Responds with 429 to requests that
 * exceed their limit, and calls `next` for the others.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { addressKey, expressMiddleware } from 'zerotime/http';
 *
 * const limiter = KeyedTokenBucket.create({ rate: 10, burst: 20, capacity: 100_000 });
 * const app = express();
 * app.use(expressMiddleware({ limiter, key: addressKey({ trustedProxies: ['10.0.0.0/8'] }) }));
 * ```
 * @throws TypeError, RangeError for an invalid option.
 */
export function expressMiddleware<
  Request extends ExpressRequest = ExpressRequest,
  Response extends ServerResponse = ServerResponse,
>(
  options: ExpressLimitOptions<Request, Response>,
): (request: Request, response: Response, next: (error?: unknown) => void) => void {
  const gate = new Gate<Request>(options, addressKey());
  const { handler } = options;
  return (request, response, next) => {
    const settled = gate.judge(request, (ruling) => {
      if ('passes' in ruling) {
        put(response, ruling.passes);
        next();
        return undefined;
      }
      if ('error' in ruling) {
        next(ruling.error);
        return undefined;
      }
      const handled =
        handler && ((decision: Decision) => handler(request, response, next, decision));
      return answerWith(response, ruling.answer, handled);
    });
    // Express 4 ignores promises. Without an error, `next` would let the request pass.
    if (settled instanceof Promise) {
      settled.catch((error: unknown) => next(error ?? new Error('a handler rejected')));
    }
  };
}
