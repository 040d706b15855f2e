import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import type { Decision } from '../../limiters/state.ts';
import { checkPeer } from '../../peers.ts';
import { Gate } from './gate.ts';
import { responding } from './node.ts';
import type { RequestLimitOptions } from './options.ts';

/** A request of express, or of another server with the same middleware signature. */
export type ExpressRequest = IncomingMessage & {
  /** The client's address, which express determines by its setting `trust proxy`. */
  readonly ip?: string | undefined;
};

/** Options of {@link expressMiddleware}. */
export interface ExpressLimitOptions<
  OwnRequest extends ExpressRequest = Request,
  OwnResponse extends ServerResponse = Response,
> extends RequestLimitOptions<OwnRequest> {
  /**
   * Sends the response to a refused request. Its status, 429 or 503 if no permit was free, and all
   * header fields are already set; the handler may change them, or call `next`. Default: sends a
   * line of text.
   */
  readonly handler?: (
    request: OwnRequest,
    response: OwnResponse,
    next: (error?: unknown) => void,
    decision: Decision,
  ) => unknown;
}

/** A middleware that limits requests: see {@link expressMiddleware}. */
export type ExpressMiddleware = (
  request: ExpressRequest,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

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
  OwnRequest extends ExpressRequest = Request,
  OwnResponse extends ServerResponse = Response,
>(options: ExpressLimitOptions<OwnRequest, OwnResponse>): ExpressMiddleware {
  checkPeer('zerotime/http', 'express');
  const gate = new Gate<OwnRequest>(options);
  const { handler } = options;
  const middleware = (
    request: OwnRequest,
    response: OwnResponse,
    next: (error?: unknown) => void,
  ) => {
    const settled = gate.serve(request, {
      ...responding(request, response, () => void next()),
      fail: (error) => void next(error),
      handle: handler && (async (decision) => handler(request, response, next, decision)),
    });
    // Express 4 ignores promises, and with a falsy error, `next` would let the request pass.
    if (settled instanceof Promise) {
      settled.catch((error: unknown) => next(error || new Error('a handler rejected')));
    }
  };
  return middleware as unknown as ExpressMiddleware; // express calls it with its own requests
}
