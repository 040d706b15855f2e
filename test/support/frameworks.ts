import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { type Context, Hono } from 'hono';
import { onTestFinished } from 'vitest';
import {
  type AddressedContext,
  type AddressedRequest,
  expressMiddleware,
  fastifyPlugin,
  honoMiddleware,
  nodeListener,
  type RequestLimitOptions,
} from '../../src/integrations/http.ts';

// A server of each framework that answers what its limit admits with "Hello".

/** A request of any framework. */
export type AnyRequest = AddressedRequest | AddressedContext;
type Limits = RequestLimitOptions<AnyRequest>;

/** Starts a server, and closes it with the test. */
export async function urlOf(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Answers refusals with 418 and the seconds to wait. */
const TEAPOT = { status: 418, body: 'later: ' };

/** Each starts a server and returns its address; `isTeapot` adds a handler of refusals. */
export const FRAMEWORKS: Readonly<
  Record<string, (limits: Limits, isTeapot?: boolean) => Promise<string>>
> = {
  'node:http': async (limits, isTeapot = false) => {
    const limited = nodeListener(
      {
        ...limits,
        ...(isTeapot && {
          handler: (_, response, { retryAfterMs }) => {
            response.statusCode = TEAPOT.status;
            response.end(`${TEAPOT.body}${response.statusCode} ${retryAfterMs}`);
          },
        }),
      },
      (_, response) => response.end('Hello'),
    );
    return urlOf(createServer(limited));
  },

  express: async (limits, isTeapot = false) => {
    const app = express();
    app.use(
      expressMiddleware<express.Request, express.Response>({
        ...limits,
        ...(isTeapot && {
          handler: (_, response, __, { retryAfterMs }) => {
            response.status(TEAPOT.status).send(`${TEAPOT.body}${TEAPOT.status} ${retryAfterMs}`);
          },
        }),
      }),
    );
    app.get('/', (_request, response) => void response.send('Hello'));
    return urlOf(createServer(app));
  },

  fastify: async (limits, isTeapot = false) => {
    const app = fastify();
    await app.register(fastifyPlugin, {
      ...limits,
      prefix: '/v1',
      ...(isTeapot && {
        handler: (_, reply, { retryAfterMs }) => {
          reply.code(TEAPOT.status);
          reply.send(`${TEAPOT.body}${TEAPOT.status} ${retryAfterMs}`);
        },
      }),
    });
    app.get('/', async () => 'Hello');
    await app.ready();
    return urlOf(app.server);
  },

  hono: async (limits, isTeapot = false) => {
    const app = new Hono<{ Bindings: HttpBindings }>();
    app.use(async (context, next) => {
      context.header('x-before', 'kept');
      await next();
    });
    app.use(
      honoMiddleware<Context>({
        ...limits,
        ...(isTeapot && {
          handler: (context, { retryAfterMs }) =>
            context.text(`${TEAPOT.body}${TEAPOT.status} ${retryAfterMs}`, 418),
        }),
      }),
    );
    app.get('/', (context) => context.text('Hello'));
    return urlOf(createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server);
  },
};
