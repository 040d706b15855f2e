import type { Decision } from '../../limiters/decision.ts';
import { type AddressedContext, addressKey } from './address-key.ts';
import type { Fields } from './fields.ts';
import { Gate } from './gate.ts';
import type { RequestLimitOptions } from './options.ts';

/** The part of a hono context that the middleware uses. */
export interface HonoContext extends AddressedContext {
  /** Sets a header field of the response, or removes it. */
  header(name: string, value: string | undefined): void;
  /** Sets the status of the response. */
  status(status: 429): void;
  /** Creates a response with the fields set so far. */
  body(body: string, status: 429 | 500 | 503, fields: Record<string, string>): Response;
}

/** Options of {@link honoMiddleware}. */
export interface HonoLimitOptions<Context extends HonoContext = HonoContext>
  extends RequestLimitOptions<Context> {
  /**
   * Returns the response to a refused request. Status 429 and all header fields are already set in
   * the context. Default: a line of text.
   */
  readonly handler?: (context: Context, decision: Decision) => Response | Promise<Response>;
}

function put(context: HonoContext, fields: Fields): void {
  for (const [name, value] of Object.entries(fields)) context.header(name, value);
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
export function honoMiddleware<Context extends HonoContext = HonoContext>(
  options: HonoLimitOptions<Context>,
): (context: Context, next: () => Promise<void>) => Promise<Response | undefined> {
  const gate = new Gate<Context>(options, addressKey());
  const { handler } = options;
  return async (context, next) =>
    gate.judge(context, async (ruling) => {
      if ('passes' in ruling) {
        put(context, ruling.passes);
        await next();
        return undefined;
      }
      if ('error' in ruling) throw ruling.error;
      const { status, fields, contentType, body, decision } = ruling.answer;
      put(context, fields);
      if (handler === undefined || decision === undefined) {
        return context.body(body, status, { 'Content-Type': contentType });
      }
      context.status(429);
      return handler(context, decision);
    });
}
