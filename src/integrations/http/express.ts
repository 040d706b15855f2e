import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Decision } from '../../limiters/decision.ts';
import { addressKey } from './address-key.ts';
import type { Answer, Fields } from './answer.ts';
import { Gate } from './gate.ts';
import type { RequestLimitOptions } from './options.ts';

/** A request of express, or of any server that calls middleware as express does. */
export type ExpressRequest = IncomingMessage & {
  /** The client's address, as express finds it by its setting `trust proxy`. */
  readonly ip?: string | undefined;
};

/** Options of {@link expressMiddleware}. */
export interface ExpressLimitOptions<
  Request extends ExpressRequest = ExpressRequest,
  Response extends ServerResponse = ServerResponse,
> extends RequestLimitOptions<Request> {
  /**
   * Answers a request that is refused, in place of the text. Status 429 and all fields are set; the
   * handler may change them, or call `next`.
   */
  readonly handler?: (
    request: Request,
    response: Response,
    next: (error?: unknown) => void,
    decision: Decision,
  ) => unknown;
}

/** A middleware that a timeout overtook finds the answer sent. */
function put(response: ServerResponse, fields: Fields): void {
  if (response.headersSent) return;
  for (const [name, value] of Object.entries(fields)) response.setHeader(name, value);
}

function send(response: ServerResponse, { status, fields, body }: Answer): void {
  if (response.headersSent) return;
  put(response, fields);
  response.statusCode = status;
  response.end(body);
}

/**
 * A middleware for express 4 and 5, and for others of the same form. A request that exceeds its limit
 * is answered with 429; the other ones go on to `next`.
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
 * @throws TypeError, RangeError for an invalid option, naming it.
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
    const settled = gate.judge(request, (verdict) => {
      if ('passes' in verdict) {
        put(response, verdict.passes);
        next();
        return undefined;
      }
      const { answer } = verdict;
      if (handler === undefined || answer.decision === undefined) return send(response, answer);
      const { 'Content-Type': _, ...fields } = answer.fields;
      put(response, fields);
      response.statusCode = answer.status;
      return handler(request, response, next, answer.decision);
    });
    // Express 4 does not look at promises. Without an error, `next` would let the request pass.
    if (settled instanceof Promise) {
      settled.catch((error: unknown) => next(error ?? new Error('a handler rejected')));
    }
  };
}
