import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import express from 'express';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Context, Hono } from 'hono';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  FixedWindow,
  KeyedTokenBucket,
  LimitSet,
  ManualClock,
  TokenBucket,
} from '../../../src/index.ts';
import {
  addressKey,
  expressMiddleware,
  fastifyHook,
  fastifyPlugin,
  honoMiddleware,
  nodeListener,
} from '../../../src/integrations/http.ts';
import { FRAMEWORKS, urlOf } from '../../support/frameworks.ts';
import { get } from '../../support/http-get.ts';

// What users write compiles, in each place where a framework takes a middleware, and works.

const clock = ManualClock.create();
const newLimiter = () => KeyedTokenBucket.create({ rate: 1, burst: 1, capacity: 16, clock });
const limiter = newLimiter();
const REFUSED = {
  allowed: false,
  limit: 1,
  remaining: 0,
  retryAfterMs: 1000,
  resetMs: 1000,
  nextTokenMs: 1000,
};

test('express takes it for all routes, a path or a route, with its own types', () => {
  const app = express();
  app.use(expressMiddleware({ limiter }));
  app.use('/api', expressMiddleware({ limiter, key: (request) => request.url ?? '' }));
  const limit = expressMiddleware({
    limiter,
    key: (request: express.Request) => request.get('x-user') ?? '',
    handler: (_request, response: express.Response) => response.sendStatus(429),
  });
  app.get('/', limit, (_request, response) => void response.send('hello'));
  const untyped = expressMiddleware({
    limiter,
    key: (request) => request.get('x-user') ?? '',
    handler: (_request, response, _next, decision) => response.json(decision),
  });
  app.get('/:id', untyped, (request, response) => void response.send(request.params.id));
  expect(app).toBeTypeOf('function');
});

test('fastify takes the hook for a route, also with its own types, and for a part', async () => {
  const app = fastify();
  onTestFinished(() => app.close());
  const byUser = fastifyHook({
    limiter: newLimiter(),
    key: (request: FastifyRequest) => String(request.query),
    handler: (_request: FastifyRequest, reply: FastifyReply) => reply.code(418).send('later'),
  });
  app.get('/user', { preHandler: byUser }, async () => 'hello');
  type Asked = FastifyRequest<{ Querystring: { readonly user: string } }>;
  const byQuery = fastifyHook({
    limiter: newLimiter(),
    key: ({ query }: Asked) => query.user,
    handler: (_request, reply, { retryAfterMs }) => reply.code(418).send({ retryAfterMs }),
  });
  app.get<{ Querystring: { readonly user: string } }>(
    '/query',
    { onRequest: byQuery },
    async ({ query }) => query.user,
  );
  app.get('/', { onRequest: [fastifyHook({ limiter: newLimiter() })] }, async () => 'hello');
  await app.register(
    async (part) => {
      await part.register(fastifyPlugin, { limiter: newLimiter(), policy: 'part' });
      part.get('/', async () => 'hello');
    },
    { prefix: '/part' },
  );
  await app.register(
    async (part) => {
      await part.register(fastifyPlugin, {
        limiter: newLimiter(),
        key: (request: FastifyRequest) => request.hostname,
        cost: (request) => (request.params === undefined ? 0 : 1),
        handler: (_request, reply, { retryAfterMs }) => reply.code(418).send({ retryAfterMs }),
      });
      part.get('/', async () => 'hello');
    },
    { prefix: '/typed' },
  );
  const statuses: number[] = [];
  const urls = ['/user', '/', '/part', '/query?user=ann', '/typed'];
  for (const url of urls.flatMap((one) => [one, one])) {
    statuses.push((await app.inject(url)).statusCode);
  }
  expect(statuses).toEqual([200, 418, 200, 429, 200, 429, 200, 418, 200, 418]);
  expect((await app.inject('/typed')).json()).toEqual({ retryAfterMs: 1000 });
});

test('hono takes it for all routes or one, with bindings and variables', async () => {
  const app = new Hono<{ Bindings: { readonly TOKEN: string }; Variables: { user: string } }>();
  app.use(honoMiddleware({ limiter: newLimiter(), key: () => 'all' }));
  app.get('/user/:name', honoMiddleware({ limiter: newLimiter(), key: () => 'one' }), (context) =>
    context.text(context.req.param('name')),
  );
  const byUser = honoMiddleware({
    limiter: newLimiter(),
    key: (context: Context<{ Variables: { user: string } }>) => context.get('user'),
    cost: (context) => (context.req.path === '/' ? 1 : 2),
  });
  app.get('/own', byUser, (context) => context.text(context.get('user')));
  const answers = [await app.request('/user/ann'), await app.request('/user/ann')];
  expect(answers.map(({ status }) => status)).toEqual([200, 429]);
  expect(await answers[0]?.text()).toBe('ann');
});

test('hono takes functions of its own context, such as getConnInfo', async () => {
  const app = new Hono();
  const byAddress = addressKey();
  app.use(
    honoMiddleware({
      limiter: newLimiter(),
      key: (context) => byAddress(getConnInfo(context).remote.address),
      handler: (context, { retryAfterMs }) => context.json({ retryAfterMs }, 418),
    }),
  );
  app.get('/', (context) => context.text('hello'));
  const incoming = { socket: { remoteAddress: '192.0.2.1' } };
  const answers = [
    await app.request('/', {}, { incoming }),
    await app.request('/', {}, { incoming }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 418]);
  expect(await answers[1]?.json()).toEqual({ retryAfterMs: 1000 });
});

test('hono without its Node.js server needs a key: nobody is limited together with all others', async () => {
  const app = new Hono();
  const perClient = newLimiter();
  app.use(honoMiddleware({ limiter: perClient, fail: 'open' }));
  app.get('/', (context) => context.text('hello'));
  app.onError((error, context) => context.text(error.message, 500));
  const response = await app.request('/');
  expect([response.status, await response.text()]).toEqual([
    500,
    expect.stringContaining('without @hono/node-server: pass a key'),
  ]);
  expect(perClient.available('unknown')).toBe(1);
});

const failed: express.ErrorRequestHandler = (error, _request, response, _next) => {
  response.status(500).send(error.message);
};

test('express gets the error of a handler, thrown synchronously or later', async () => {
  const app = express();
  const failing = (isAsync: boolean) =>
    expressMiddleware({
      limiter: { decide: () => REFUSED },
      handler: () => {
        if (isAsync) return Promise.reject(new Error('in a handler'));
        throw new Error('in a handler');
      },
    });
  app.get('/sync', failing(false));
  app.get('/async', failing(true));
  app.use(failed);
  for (const path of ['sync', 'async']) {
    const response = await fetch((await urlOf(createServer(app))) + path);
    expect([response.status, await response.text()]).toEqual([500, 'in a handler']);
  }
});

test.each([
  ['rejects without an error', () => Promise.reject()],
  ['rejects with a falsy error', () => Promise.reject(0)],
  [
    'throws a falsy error',
    () => {
      throw '';
    },
  ],
])('a handler that %s admits nothing', async (_, handler) => {
  const app = express();
  app.use(expressMiddleware({ limiter: { decide: () => REFUSED }, handler }));
  app.use((_request, response) => void response.send('hello'));
  app.use(failed);
  const response = await fetch(await urlOf(createServer(app)));
  expect([response.status, await response.text()]).toEqual([500, 'a handler rejected']);
});

test('an answer that was sent while the limiter decided stays as it is', async () => {
  let isNext = false;
  const url = await urlOf(
    createServer((request, response) => {
      const decision = request.url === '/refused' ? REFUSED : { ...REFUSED, allowed: true };
      const limit = expressMiddleware({
        limiter: {
          decide: async () => {
            response.write('time');
            setImmediate(() => response.end('out'));
            return decision;
          },
        },
      });
      limit(request, response, (error) => {
        isNext = error === undefined;
      });
    }),
  );
  expect(await (await fetch(`${url}refused`)).text()).toBe('timeout');
  expect(isNext).toBe(false);
  expect(await (await fetch(`${url}allowed`)).text()).toBe('timeout');
  expect(isNext).toBe(true);
});

test('node:http refuses to limit without a listener', () => {
  const listen = () => nodeListener({ limiter }, undefined as never);
  expect(listen).toThrow('listener must be a function, got undefined');
});

test('the error of a handler of node:http is one of the listener', () => {
  const limited = nodeListener(
    {
      limiter: { decide: () => REFUSED },
      handler: () => {
        throw new Error('in a handler');
      },
    },
    () => expect.unreachable(),
  );
  const request = new IncomingMessage(new Socket());
  expect(() => limited(request, new ServerResponse(request))).toThrow('in a handler');
});

// Several middlewares limit one request: its fields tell of all limits.

function bucketOf(burst: number, rate = 0.5): TokenBucket {
  return TokenBucket.create({ rate, burst, clock });
}

const legacy = { headers: false, legacyHeaders: true };

describe.each(Object.entries(FRAMEWORKS))('in a chain with %s', (_, serve) => {
  test('RateLimit and RateLimit-Policy list the policies of all', async () => {
    const window = FixedWindow.create({ limit: 100, intervalMs: 60_000, clock });
    const url = await serve({ limiter: bucketOf(2), policy: 'burst' }, false, [
      { limiter: window, policy: 'minute', windowMs: 60_000 },
    ]);
    const { status, fields } = await get(url);
    expect([status, fields['ratelimit']]).toEqual([200, '"burst";r=1;t=2, "minute";r=99;t=60']);
    expect(fields['ratelimit-policy']).toBe('"burst";q=2, "minute";q=100;w=60');
  });

  test('each policy has a name of its own', async () => {
    const limits = [
      { rate: 1, burst: 5 },
      { rate: 1, burst: 6 },
    ];
    const several = LimitSet.create({ limits, clock });
    const url = await serve({ limiter: bucketOf(3) }, false, [
      { limiter: bucketOf(4) },
      { limiter: several },
      { limiter: bucketOf(7), policy: 'default-1' },
      { limiter: bucketOf(8), headers: false },
    ]);
    expect((await get(url)).fields['ratelimit-policy']).toBe(
      [
        '"default";q=3',
        '"default-2";q=4',
        '"default-1";q=5',
        '"default-2-2";q=6',
        '"default-1-2";q=7',
      ].join(', '),
    );
  });

  test('a refusal names its policy as the fields do, and ends all times with Retry-After', async () => {
    const url = await serve({ limiter: bucketOf(60) }, false, [
      { limiter: bucketOf(1), problemJson: true },
    ]);
    await get(url);
    const { status, body, fields } = await get(url);
    expect(status).toBe(429);
    expect(JSON.parse(body)['violated-policies']).toEqual(['default-2']);
    expect(fields).toMatchObject({
      ratelimit: '"default";r=58;t=2, "default-2";r=0;t=2',
      'ratelimit-policy': '"default";q=60, "default-2";q=1',
      'retry-after': '2',
    });
  });

  test('one that sends no fields, or is skipped, changes none', async () => {
    const url = await serve({ limiter: bucketOf(9), headers: false }, false, [
      { limiter: bucketOf(5) },
      { limiter: bucketOf(6), skip: () => true },
    ]);
    const { fields } = await get(url);
    expect(fields['ratelimit']).toBe('"default";r=4;t=2');
  });

  test.each([
    ['first', 1, 9, '1', '0'],
    ['last', 9, 1, '1', '0'],
  ])('the old fields are those of the tightest limit: the %s', async (...row) => {
    const [, first, last, limit, remaining] = row;
    const url = await serve({ limiter: bucketOf(first), ...legacy }, false, [
      { limiter: bucketOf(last), ...legacy },
      { limiter: bucketOf(1) },
    ]);
    expect((await get(url)).fields).toMatchObject({
      'x-ratelimit-limit': limit,
      'x-ratelimit-remaining': remaining,
    });
  });

  test('the old fields have no time if the tightest limit has none', async () => {
    const paused = TokenBucket.create({ rate: 0, burst: 1, clock });
    const url = await serve({ limiter: bucketOf(1), ...legacy }, false, [
      { limiter: paused, ...legacy },
    ]);
    const { fields } = await get(url);
    expect(fields).toMatchObject({ 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0' });
    expect(fields).not.toHaveProperty('x-ratelimit-reset');
  });

  test('the old fields of a refusal are those of the limit that refused', async () => {
    const url = await serve({ limiter: bucketOf(2), ...legacy, cost: () => 2 }, false, [
      { limiter: bucketOf(5), ...legacy, cost: () => 6 },
    ]);
    const { status, fields } = await get(url);
    expect([status, fields['x-ratelimit-limit']]).toEqual([429, '5']);
  });
});

test('a refused request that its handler passes on has the wait in the fields of all', () => {
  const fields = new Map<string, unknown>();
  const response = {
    headersSent: false,
    setHeader: (name: string, value: unknown) => fields.set(name, value),
    removeHeader: (name: string) => fields.delete(name),
  };
  const request = {};
  const empty = bucketOf(1, 0.25);
  empty.tryConsume();
  for (const limiter of [empty, bucketOf(60)]) {
    const handler = (_request: object, _response: object, next: () => void) => next();
    const middleware = expressMiddleware({ limiter, handler });
    middleware(request as never, response as never, () => undefined);
  }
  expect(fields.get('RateLimit')).toBe('"default";r=0;t=4, "default-2";r=59;t=2');
  expect(fields.get('Retry-After')).toBe('4');
});
