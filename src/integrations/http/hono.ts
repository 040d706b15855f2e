import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from 'hono';
import type { Decision } from '../../limiters/state.ts';
import { checkPeer } from '../../peers.ts';
import { heldResponse } from '../fetch/held-response.ts';
import type { AddressedContext } from './address-key.ts';
import { Gate, thrown } from './gate.ts';
import { type Ended, untilEnd } from './in-flight.ts';
import type { RequestLimitOptions } from './options.ts';

/** The part of a hono context that the middleware uses. */
export interface HonoContext extends AddressedContext {
  /** Sets a header field of the response, or removes it. */
  header(name: string, value: string | undefined): void;
  /** Sets the status of the response. */
  status(status: 429 | 500 | 503): void;
  /** The response, once the handlers have run. */
  res: Response;
  /** The request. */
  readonly req: {
    /** As the web platform has it; its signal aborts when the client leaves. */
    readonly raw: {
      /** Missing on some platforms. */
      readonly signal?: AbortSignal;
      /** Such as `HEAD`, whose response is sent without its body. */
      readonly method?: string;
    };
  };
  /** Creates a response with the status and the fields set so far. */
  body(body: string): Response;
}

/** What `@hono/node-server` passes as `env`. */
interface HttpBindings {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** Options of {@link honoMiddleware}. */
export interface HonoLimitOptions<OwnContext extends HonoContext = Context>
  extends RequestLimitOptions<OwnContext> {
  /**
   * Returns the response to a refused request. Its status, 429 or 503 if no permit was free, and
   * all header fields are already set in the context. Default: a line of text.
   */
  readonly handler?: (context: OwnContext, decision: Decision) => Response | Promise<Response>;
}

/** A middleware that limits requests: see {@link honoMiddleware}. */
export type HonoMiddleware = (
  context: HonoContext,
  next: () => Promise<void>,
) => Promise<Response | undefined>;

/** Runs the handlers, and tells when the response has ended. */
async function answered(
  context: HonoContext,
  next: () => Promise<void>,
  ended: Ended,
): Promise<void> {
  const { incoming, outgoing } = (context.env ?? {}) as Partial<HttpBindings>;
  if (outgoing !== undefined) {
    untilEnd(incoming ?? {}, outgoing, ended);
    return next();
  }
  try {
    await next();
    const { res } = context;
    const { signal, method } = context.req.raw;
    const end = (isWhole: boolean) => ended(isWhole && !signal?.aborted ? res.status : undefined);
    // Hono drops the body of a response to HEAD, unread.
    if (method === 'HEAD') end(true);
    else context.res = heldResponse(res, end);
  } catch (error) {
    ended(500); // of the handlers, or of a body that was read before
    throw error;
  }
}

/**
 * A middleware for hono 4. The default key needs `@hono/node-server`; elsewhere, pass a `key`.
 *
 * @example
 * ```ts
 * import { Hono } from 'hono';
 * import { honoMiddleware } from 'zerotime/http';
 *
 * const limiter = KeyedTokenBucket.create({ rate: 10, burst: 20, capacity: 100_000 });
 * const app = new Hono();
 * app.use(honoMiddleware({ limiter }));
 * ```
 * @throws TypeError, RangeError for an invalid option.
 */
export function honoMiddleware<OwnContext extends HonoContext = Context>(
  options: HonoLimitOptions<OwnContext>,
): HonoMiddleware {
  checkPeer('zerotime/http', 'hono');
  const gate = new Gate<OwnContext>(options);
  const { handler } = options;
  const middleware = async (context: OwnContext, next: () => Promise<void>) =>
    gate.serve(context, {
      pass: (ended) => (ended ? answered(context, next, ended) : next()),
      fail: thrown,
      set: (name, value) => context.header(name, value),
      status: (status) => context.status(status),
      send: (body) => context.body(body),
      handle: handler && ((decision) => handler(context, decision)),
    });
  return middleware as unknown as HonoMiddleware; // hono calls it with its own contexts
}
