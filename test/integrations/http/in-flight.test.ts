import { once } from 'node:events';
import { createServer, type RequestListener, request, type ServerResponse } from 'node:http';
import {
  connect as connectHttp2,
  createServer as createHttp2,
  type Http2ServerResponse,
} from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import fastify from 'fastify';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test } from 'vitest';
import { allOf, type Decision, ManualClock, Semaphore, TokenBucket } from '../../../src/index.ts';
import { fastifyPlugin, honoMiddleware, nodeListener } from '../../../src/integrations/http.ts';
import { FRAMEWORKS, urlOf } from '../../support/frameworks.ts';
import { get } from '../../support/http-get.ts';
import { Random, SEED } from '../../support/random.ts';
import { until, withResolvers } from '../../support/settled.ts';

const clock = ManualClock.create();

function adaptive(): Semaphore {
  return Semaphore.create({ permits: { max: 1 }, adapt: 'gradient', clock });
}

/** Starts a request whose response never ends. The function that it returns leaves. */
async function hold(url: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}held`, (response) => {
      response.on('error', () => undefined);
      response.once('data', () => resolve(() => void sent.destroy()));
    });
    sent.once('error', reject).end();
  });
}

/** Resolves once all permits are back, and takes none. */
async function areBack(semaphore: Semaphore): Promise<void> {
  (await semaphore.acquire(semaphore.permits)).release({ outcome: 'ignore' });
}

/** A semaphore, and the statuses of the requests that have ended. */
function observed(permits: number) {
  const semaphore = Semaphore.create({ permits });
  const ends: (number | undefined)[] = [];
  const outcomeOf = (_: object, status: number | undefined) => {
    ends.push(status);
    return 'ok' as const;
  };
  return { semaphore, ends, limits: { limiter: semaphore, outcomeOf } };
}

describe.each(Object.entries(FRAMEWORKS))('with %s', (_name, serve) => {
  test('a request without a free permit gets 503, until the response of another ends', async () => {
    const semaphore = Semaphore.create({ permits: 2 });
    const url = await serve({ limiter: semaphore });
    const leave = await hold(url);
    expect((await get(url)).status).toBe(200);
    const leaveToo = await hold(url);
    expect(semaphore.inUse()).toBe(2);
    const { status, body, fields } = await get(url);
    expect([status, body]).toEqual([503, 'Service unavailable\n']);
    expect(Object.keys(fields)).toEqual(['content-type']);
    leave();
    leaveToo();
    await areBack(semaphore);
    expect((await get(url)).status).toBe(200);
  });

  test('the permit of a request that fails comes back', async () => {
    const { semaphore, ends, limits } = observed(1);
    const url = await serve(limits);
    expect((await get(`${url}fails`)).status).toBe(500);
    await areBack(semaphore);
    expect(ends).toEqual([500]);
  });

  test('503 and 504 count as dropped; 429 and clients that leave do not', async () => {
    const semaphore = adaptive();
    const url = await serve({ limiter: semaphore });
    for (const [status, dropped] of [
      [200, 0],
      [500, 0],
      [429, 0],
      [503, 1],
      [504, 2],
    ]) {
      expect((await get(`${url}status/${status}`)).status).toBe(status);
      await areBack(semaphore);
      expect(semaphore.adaptation?.dropped, `${status}`).toBe(dropped);
    }
    (await hold(url))();
    await areBack(semaphore);
    expect(semaphore.adaptation?.dropped).toBe(2);
  });

  test('outcomeOf decides otherwise, and returns the permit even if it throws', async () => {
    const semaphore = adaptive();
    const seen: unknown[] = [];
    const errors: unknown[] = [];
    const url = await serve({
      limiter: semaphore,
      outcomeOf: (_, status) => {
        seen.push(status);
        if (status === 200) throw new Error('in outcomeOf');
        return 'dropped';
      },
      onError: (error) => errors.push(error),
    });
    await get(url);
    await areBack(semaphore);
    expect(errors).toEqual([new Error('in outcomeOf')]);
    (await hold(url))();
    await areBack(semaphore);
    expect(seen).toEqual([200, undefined]);
    expect(semaphore.adaptation?.dropped).toBe(1);
  });

  test('an allOf refuses with 429 without tokens, and with 503 without a permit', async () => {
    const semaphore = Semaphore.create({ permits: 1, clock });
    const bucket = TokenBucket.create({ rate: 0.5, burst: 3, clock });
    const url = await serve({ limiter: () => allOf(semaphore, bucket) });
    const leave = await hold(url);
    const full = await get(url);
    expect([full.status, full.fields['retry-after']]).toEqual([503, undefined]);
    expect(bucket.available()).toBe(2);
    leave();
    await areBack(semaphore);
    for (const left of [1, 0]) {
      expect((await get(url)).fields['ratelimit']).toBe(`"default";r=${left};t=2`);
      await areBack(semaphore);
    }
    const { status, fields } = await get(url);
    expect([status, fields['retry-after']]).toEqual([429, '2']);
    expect(semaphore.inUse()).toBe(0);
  });

  test('onLimit and a handler get the decision: when a permit comes back is unknown', async () => {
    const semaphore = Semaphore.create({ permits: 1 });
    const refusals: Decision[] = [];
    const limits = {
      limiter: semaphore,
      onLimit: (_: object, one: Decision) => refusals.push(one),
    };
    const url = await serve(limits, true);
    const leave = await hold(url);
    const { status, body } = await get(url);
    expect([status, body]).toEqual([418, 'later: 418 Infinity']);
    expect(refusals).toEqual([
      {
        ...{ allowed: false, limit: 1, remaining: 0, retryAfterMs: Number.POSITIVE_INFINITY },
        resetMs: Number.POSITIVE_INFINITY,
        nextTokenMs: Number.POSITIVE_INFINITY,
      },
    ]);
    leave();
    await areBack(semaphore);
  });

  test('a request whose other limit refuses gives its permit back', async () => {
    const semaphore = adaptive();
    const bucket = TokenBucket.create({ rate: 0.5, burst: 1, clock });
    const url = await serve({ limiter: semaphore }, false, [{ limiter: bucket }]);
    expect((await get(url)).status).toBe(200);
    await areBack(semaphore);
    expect((await get(url)).status).toBe(429);
    await areBack(semaphore);
    expect(semaphore.adaptation?.dropped).toBe(0);
  });

  test(`requests that are cut off at any time end exactly once (ZEROTIME_SEED=${SEED})`, async () => {
    const random = new Random(SEED);
    const { semaphore, ends, limits } = observed(5);
    const seen = { asked: 0, refused: 0 };
    const url = await serve({
      ...limits,
      cost: () => {
        seen.asked++;
        return 1;
      },
      onLimit: () => seen.refused++,
    });
    const method = () => random.pick(['GET', 'HEAD', 'OPTIONS', 'POST']);
    const path = () => random.pick(['', 'held', 'fails', 'status/204', 'status/304', 'none']);
    // On a busy machine, requests are cut off before they arrive.
    for (let round = 0; round < 10 || seen.refused === seen.asked; round++) {
      const sent = Array.from({ length: 10 }, async () => {
        const one = request(`${url}${path()}`, { method: method(), agent: false });
        one.on('error', () => undefined);
        one.once('response', (response) => response.on('error', () => undefined).resume());
        if (one.method === 'POST') one.write('a part of its body');
        else one.end();
        await sleep(random.below(20));
        one.destroy();
      });
      await Promise.all(sent);
    }
    await areBack(semaphore);
    expect(ends).toHaveLength(seen.asked - seen.refused);
  });

  test('problemJson says 503, and a permit that expired does not fail the response', async () => {
    const semaphore = Semaphore.create({ permits: 1, holdMs: 1, clock });
    const url = await serve({
      limiter: semaphore,
      problemJson: true,
      onError: () => expect.unreachable(),
    });
    const leave = await hold(url);
    const { status, body } = await get(url);
    expect([status, JSON.parse(body)]).toEqual([
      503,
      { type: 'about:blank', title: 'Service Unavailable', status: 503 },
    ]);
    clock.advance(2);
    expect((await get(url)).status).toBe(200);
    leave();
    await areBack(semaphore);
  });

  test('misuse fails', async () => {
    const semaphore = Semaphore.create({ permits: 1 });
    const url = await serve({ limiter: semaphore, cost: () => 0.5, onError: () => undefined });
    expect((await get(url)).status).toBe(500);
    await expect(serve({ limiter: semaphore, key: () => 'ann' })).rejects.toThrow(
      'key must be left out: the limiter has no keys',
    );
    await expect(serve({ limiter: semaphore, outcomeOf: 'ok' as never })).rejects.toThrow(
      'outcomeOf must be a function, got "ok"',
    );
  });
});

// Responses that end in unusual ways: each returns its permit exactly once.

async function portOf(listener: RequestListener): Promise<number> {
  return Number(new URL(await urlOf(createServer(listener))).port);
}

test('pipelined requests whose turn never comes return their permits with the connection', async () => {
  const { semaphore, ends, limits } = observed(20);
  let begun = 0;
  const port = await portOf(
    nodeListener(limits, () => {
      begun++;
    }),
  );
  const client = connect(port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20));
  await until(() => begun === 20);
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(503);
  client.destroy();
  await areBack(semaphore);
  expect(ends).toEqual(Array.from({ length: 20 }));
});

test('pipelined requests that are answered keep nothing of their connection', async () => {
  const { semaphore, ends, limits } = observed(2);
  const answers: ServerResponse[] = [];
  const port = await portOf(
    nodeListener(limits, (_, response: ServerResponse) => {
      answers.push(response);
      if (answers.length === 2) for (const one of answers) one.end('Hello');
    }),
  );
  const client = connect(port, '127.0.0.1').resume();
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2));
  await until(() => answers.length === 2);
  await areBack(semaphore);
  expect(ends).toEqual([200, 200]);
  client.destroy();
  await once(client, 'close');
  await areBack(semaphore);
  expect(ends).toHaveLength(2);
});

test.each(['answered', 'closed'])('a response that was %s before keeps no permit', async (how) => {
  const { semaphore, ends, limits } = observed(1);
  const { promise: isJudged, resolve: judged } = withResolvers();
  const limited = nodeListener(limits, () => judged());
  const port = await portOf((request, response) => {
    response.once('close', () => setImmediate(() => limited(request, response)));
    if (how === 'answered') response.end('timeout');
    else response.destroy();
  });
  await fetch(`http://127.0.0.1:${port}/`).then(
    (response) => response.text(),
    () => undefined,
  );
  await isJudged;
  expect([ends, semaphore.inUse()]).toEqual([[how === 'answered' ? 200 : undefined], 0]);
});

test.each([
  ['GET', 'ended', 5, undefined, 200],
  ['GET', 'ended', 1_000_000, undefined, 200],
  ['HEAD', 'ended', 5, undefined, 200],
  ['HEAD', 'awaited', 0, 8, undefined],
  ['GET', 'begun', 5, 0, undefined],
  // More than a client that does not read lets come.
  ['GET', 'begun', 1_000_000, 0, undefined],
  ['GET', 'ended', 1_000_000, 0, undefined],
  ['GET', 'ended', 1_000_000, 8, undefined],
] as const)(
  'http2: %s, %s with %i bytes, reset by %s',
  async (method, how, bytes, code, status) => {
    const { semaphore, ends, limits } = observed(1);
    const server = createHttp2().listen(0, '127.0.0.1');
    const begun = new Promise<Http2ServerResponse>((resolve) => {
      const limited = nodeListener(limits, (_, response) => resolve(response as never));
      server.on('request', limited as never);
    });
    await once(server, 'listening');
    const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const stream = client.request({ ':method': method });
    const response = await begun;
    onTestFinished(() => {
      response.stream.destroy();
      client.close();
      server.close();
    });
    expect(semaphore.inUse()).toBe(1);
    if (how !== 'awaited') {
      response[how === 'ended' ? 'end' : 'write']('x'.repeat(bytes));
      await once(stream, 'response');
    }
    if (code === undefined) stream.resume();
    else stream.close(code);
    await areBack(semaphore);
    expect(ends).toEqual([status]);
  },
);

test('fastify returns the permit of an injected request', async () => {
  const { semaphore, ends, limits } = observed(1);
  const app = fastify();
  onTestFinished(() => app.close());
  await app.register(fastifyPlugin, limits as never);
  app.get('/', async () => 'Hello');
  for (let call = 0; call < 3; call++) expect((await app.inject('/')).statusCode).toBe(200);
  await areBack(semaphore);
  expect(ends).toEqual([200, 200, 200]);
});

test('hono without its Node.js server holds a permit until the body has ended', async () => {
  const { semaphore, ends, limits } = observed(1);
  const app = new Hono();
  app.use(honoMiddleware(limits as never));
  let end: () => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  app.get('/stream', (context) => {
    const body = new ReadableStream({
      start: (controller) => {
        end = () => controller.close();
        fail = (error) => controller.error(error);
      },
    });
    return context.body(body, 200, { 'x-kept': 'kept' });
  });
  app.get('/empty', (context) => context.body(null, 204));
  app.get('/fails', () => {
    throw 'no error'; // hono hands on what is no Error
  });
  app.onError((_, context) => context.text('failed', 500));
  const cached = new Response('cached');
  app.get('/cached', () => cached);
  const response = await app.request('/stream');
  expect(response.headers.get('x-kept')).toBe('kept');
  expect((await app.request('/empty')).status).toBe(503);
  end();
  expect(await response.text()).toBe('');
  await areBack(semaphore);
  expect((await app.request('/empty')).status).toBe(204);
  await expect(async () => app.request('/fails')).rejects.toBe('no error');
  await areBack(semaphore);
  expect((await app.request('/stream', { method: 'HEAD' })).body).toBe(null);
  expect(semaphore.inUse()).toBe(0);
  expect(ends).toEqual([200, 204, 500, 200]);

  const leave = new AbortController();
  const held = await app.request('/stream', { signal: leave.signal });
  leave.abort();
  await held.body?.cancel();
  await areBack(semaphore);
  expect(ends.at(-1)).toBe(undefined);

  // Cut off by the server that reads it, or by its source, on platforms without such a signal.
  await (await app.request('/stream')).body?.cancel();
  const broken = await app.request('/stream');
  fail(new Error('broken'));
  await expect(broken.text()).rejects.toThrow('broken');
  expect(ends.slice(5)).toEqual([undefined, undefined]);

  // A response can be sent once only: its body is read.
  expect(await (await app.request('/cached')).text()).toBe('cached');
  await areBack(semaphore);
  expect((await app.request('/cached')).status).toBe(500);
  expect(semaphore.inUse()).toBe(0);
  expect(ends.at(-1)).toBe(500);
});
