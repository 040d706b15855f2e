import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { given, type Known } from '../../known-options.ts';
import type { Decision } from '../../limiters/state.ts';
import { checkPeer } from '../../peers.ts';
import type { AddressedRequest } from './address-key.ts';
import { Gate, thrown } from './gate.ts';
import { untilEnd } from './in-flight.ts';
import { REQUEST_LIMIT_OPTIONS, type RequestLimitOptions } from './options.ts';

/** The part of a fastify reply that the hook uses. */
export interface RepliedTo {
  /** Sets the status. */
  code(status: number): unknown;
  /** Sets a header field. */
  header(name: string, value: string): unknown;
  /** Removes a header field. */
  removeHeader(name: string): unknown;
  /** Sends the body. */
  send(body: string): unknown;
  /** The response of Node.js. */
  readonly raw: ServerResponse;
}

/** Options of {@link fastifyHook} and {@link fastifyPlugin}. */
export interface FastifyLimitOptions<
  Request extends AddressedRequest = FastifyRequest,
  Reply extends RepliedTo = FastifyReply,
> extends RequestLimitOptions<Request> {
  /**
   * Sends the reply to a refused request, or throws. Its status, 429 or 503 if no permit was free,
   * and all header fields are already set. Default: sends a line of text.
   */
  readonly handler?: (request: Request, reply: Reply, decision: Decision) => unknown;
}

/** A hook that limits requests: see {@link fastifyHook}. */
export type FastifyHook = (request: AddressedRequest, reply: RepliedTo) => Promise<unknown>;

/** The part of a fastify instance that the plugin uses. */
export interface FastifyApp {
  /** Adds a hook to all later routes. */
  addHook(name: 'onRequest', hook: FastifyHook): unknown;
}

/**
 * Returns a hook for fastify 4 and 5 that limits single routes. Use it as `onRequest`, or later,
 * such as `preHandler`, if the key depends on other hooks.
 *
 * @example
 * ```ts
 * import fastify from 'fastify';
 * import { fastifyHook } from 'zerotime/http';
 *
 * const limiter = KeyedTokenBucket.create({ rate: 1, burst: 5, capacity: 100_000 });
 * const app = fastify();
 * app.post('/login', { onRequest: fastifyHook({ limiter }) }, async () => 'welcome');
 * ```
 * @throws TypeError, RangeError for an invalid option.
 */
export function fastifyHook<
  Request extends AddressedRequest = FastifyRequest,
  Reply extends RepliedTo = FastifyReply,
>(options: FastifyLimitOptions<Request, Reply>): FastifyHook {
  checkPeer('zerotime/http', 'fastify');
  const gate = new Gate<Request>(options);
  const { handler } = options;
  const hook = async (request: Request, reply: Reply) =>
    gate.serve(request, {
      pass: (ended) => ended && untilEnd(request, reply.raw, ended),
      fail: thrown,
      set: (name, value) =>
        value === undefined ? reply.removeHeader(name) : reply.header(name, value),
      status: (status) => reply.code(status),
      send: (body) => reply.send(body),
      handle:
        handler &&
        (async (decision) => {
          await handler(request, reply, decision);
          return reply;
        }),
    });
  return hook as unknown as FastifyHook; // fastify calls it with its own requests
}

/** Options that fastify adds to those of a plugin. */
interface Registration {
  /** Prefix of a plugin's routes. Not used: this plugin has no routes. */
  readonly prefix?: string;
  /** Not used. */
  readonly logLevel?: unknown;
  /** Not used. */
  readonly logSerializers?: unknown;
}

/**
 * A plugin for fastify 4 and 5 that limits all routes of the instance that registers it, including
 * those of nested plugins.
 *
 * @example
 * ```ts
 * import fastify from 'fastify';
 * import { fastifyPlugin } from 'zerotime/http';
 *
 * const limiter = KeyedTokenBucket.create({ rate: 10, burst: 20, capacity: 100_000 });
 * const app = fastify();
 * await app.register(fastifyPlugin, { limiter });
 * ```
 * @throws TypeError, RangeError for an invalid option.
 */
export const fastifyPlugin: (
  app: FastifyApp,
  options: FastifyLimitOptions & Registration,
) => Promise<void> = /* @__PURE__ */ Object.assign(
  async (app: FastifyApp, options: FastifyLimitOptions & Registration) => {
    const known = REQUEST_LIMIT_OPTIONS as object as Known<typeof options>;
    const { prefix: _, logLevel: __, logSerializers: ___, ...limits } = given(options, known);
    app.addHook('onRequest', fastifyHook(limits as FastifyLimitOptions));
  },
  {
    // Makes fastify add the hook to the instance itself instead of a nested one.
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: 'zerotime',
    [Symbol.for('plugin-meta')]: { name: 'zerotime', fastify: '>=4' },
  },
);
