import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
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

// A server of each framework that answers what its limits admit with "Hello", and errors with 500.

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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A body of which the first part comes at once, and the rest never. */
const endless = () => new ReadableStream({ start: (body) => body.enqueue(Buffer.from('part')) });

/** Answers `/status/503` with that status, `/held` without ever ending, `/fails` with an error. */
const listener: RequestListener = ({ url = '/' }, response) => {
  if (url.startsWith('/status/')) response.statusCode = Number(url.slice(8));
  if (url === '/fails') response.statusCode = 500;
  if (url === '/held') response.write('part');
  else response.end('Hello');
};

/** Answers refusals with 418 and the seconds to wait. */
const TEAPOT = { status: 418, body: 'later: ' };

/**
 * Each starts a server and returns its address; `isTeapot` adds a handler of refusals, and `others`
 * are limits after the first.
 */
export const FRAMEWORKS: Readonly<
  Record<
    string,
    (limits: Limits, isTeapot?: boolean, others?: readonly Limits[]) => Promise<string>
  >
> = {
  'node:http': async (limits, isTeapot = false, others = []) => {
    const last = others.reduceRight<RequestListener>(
      (next, limit) => nodeListener(limit, next),
      listener,
    );
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
      last,
    );
    return urlOf(createServer(limited));
  },

  express: async (limits, isTeapot = false, others = []) => {
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
    for (const other of others) app.use(expressMiddleware<express.Request>(other));
    app.get('/', (_request, response) => void response.send('Hello'));
    app.get('/fails', () => Promise.reject(new Error('in a handler')));
    app.use(listener);
    const failed: express.ErrorRequestHandler = (error, _request, response, _next) => {
      response.status(500).send(messageOf(error));
    };
    app.use(failed);
    return urlOf(createServer(app));
  },

  fastify: async (limits, isTeapot = false, others = []) => {
    const app = fastify();
    app.setErrorHandler((error, _request, reply) => reply.code(500).send(messageOf(error)));
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
    for (const other of others) await app.register(fastifyPlugin, other);
    app.get('/', async () => 'Hello');
    app.get('/fails', () => Promise.reject(new Error('in a handler')));
    app.get('/held', (_, reply) => reply.send(Readable.fromWeb(endless() as never)));
    app.get<{ Params: { status: string } }>('/status/:status', (request, reply) =>
      reply.code(Number(request.params.status)).send('Hello'),
    );
    await app.ready();
    return urlOf(app.server);
  },

  hono: async (limits, isTeapot = false, others = []) => {
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
    for (const other of others) app.use(honoMiddleware<Context>(other));
    app.get('/', (context) => context.text('Hello'));
    app.get('/fails', () => Promise.reject(new Error('in a handler')));
    app.get('/held', (context) => context.body(endless()));
    app.get('/status/:status', (context) =>
      context.text('Hello', Number(context.req.param('status')) as 200),
    );
    app.onError((error, context) => context.text(messageOf(error), 500));
    return urlOf(createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server);
  },
};
