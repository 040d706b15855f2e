import type { Decision } from '../../limiters/decision.ts';
import { type AddressedRequest, addressKey } from './address-key.ts';
import { Gate } from './gate.ts';
import type { RequestLimitOptions } from './options.ts';

/** What the hook needs of a reply of fastify. */
export interface FastifyReply {
  /** Sets the status. */
  code(status: number): unknown;
  /** Sets several fields. */
  headers(fields: Record<string, string>): unknown;
  /** Sends the body. */
  send(body: string): unknown;
}

/** Options of {@link fastifyHook} and {@link fastifyPlugin}. */
export interface FastifyLimitOptions<
  Request extends AddressedRequest = AddressedRequest,
  Reply extends FastifyReply = FastifyReply,
> extends RequestLimitOptions<Request> {
  /**
   * Answers a request that is refused, in place of the text: it sends the reply, whose status 429 and
   * fields are set, or throws.
   */
  readonly handler?: (request: Request, reply: Reply, decision: Decision) => unknown;
}

/** A hook that limits requests: see {@link fastifyHook}. */
export type FastifyHook = (request: AddressedRequest, reply: FastifyReply) => Promise<unknown>;

/** What the plugin needs of an instance of fastify. */
export interface FastifyApp {
  /** Adds a hook to all routes that follow. */
  addHook(name: 'onRequest', hook: FastifyHook): unknown;
}

/**
 * Returns a hook for fastify 4 and 5, to limit single routes: as `onRequest`, or later, such as
 * `preHandler`, if the key needs what other hooks find out.
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
 * @throws TypeError, RangeError for an invalid option, naming it.
 */
export function fastifyHook<
  Request extends AddressedRequest = AddressedRequest,
  Reply extends FastifyReply = FastifyReply,
>(options: FastifyLimitOptions<Request, Reply>): FastifyHook {
  const gate = new Gate<Request>(options, addressKey());
  const { handler } = options;
  const hook = async (request: Request, reply: Reply) =>
    gate.judge(request, async (verdict) => {
      if ('passes' in verdict) {
        reply.headers(verdict.passes);
        return undefined;
      }
      const { status, fields, body, decision } = verdict.answer;
      reply.code(status);
      if (handler === undefined || decision === undefined) {
        reply.headers(fields);
        reply.send(body);
      } else {
        const { 'Content-Type': _, ...others } = fields;
        reply.headers(others);
        await handler(request, reply, decision);
      }
      return reply;
    });
  return hook as unknown as FastifyHook; // fastify calls it with its own requests
}

/** What fastify itself adds to the options of a plugin. */
interface Registration {
  /** The prefix of a plugin's routes. This plugin has none. */
  readonly prefix?: string;
  /** Not used. */
  readonly logLevel?: unknown;
  /** Not used. */
  readonly logSerializers?: unknown;
}

/**
 * A plugin for fastify 4 and 5 that limits all routes of the instance on which it is registered, and of
 * the plugins within.
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
 * @throws TypeError, RangeError for an invalid option, naming it.
 */
export const fastifyPlugin: (
  app: FastifyApp,
  options: FastifyLimitOptions & Registration,
) => Promise<void> = /* @__PURE__ */ Object.assign(
  async (app: FastifyApp, options: FastifyLimitOptions & Registration) => {
    const { prefix: _, logLevel: __, logSerializers: ___, ...limits } = options;
    app.addHook('onRequest', fastifyHook(limits));
  },
  {
    // Fastify adds the hook to the instance itself, instead of one within.
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: 'zerotime',
    [Symbol.for('plugin-meta')]: { name: 'zerotime', fastify: '4.x || 5.x' },
  },
);
