import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import fastify from 'fastify';
import { Hono } from 'hono';
import { expect, onTestFinished, test } from 'vitest';
import { Semaphore } from '../../../src/index.ts';
import { fastifyPlugin, honoMiddleware, nodeListener } from '../../../src/integrations/http.ts';
import { urlOf } from '../../support/frameworks.ts';

// Responses that end in unusual ways: each returns its permit exactly once.

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

async function areBack(semaphore: Semaphore): Promise<void> {
  (await semaphore.acquire(semaphore.permits)).release();
}

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
  while (begun < 20) await new Promise(setImmediate);
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
  while (answers.length < 2) await new Promise(setImmediate);
  await areBack(semaphore);
  expect(ends).toEqual([200, 200]);
  client.destroy();
  await once(client, 'close');
  await areBack(semaphore);
  expect(ends).toHaveLength(2);
});

test.each(['answered', 'closed'])('a response that was %s before keeps no permit', async (how) => {
  const { semaphore, ends, limits } = observed(1);
  let judged: () => void = () => undefined;
  const isJudged = new Promise<void>((resolve) => {
    judged = resolve;
  });
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

test('http2 streams that are reset are no responses', async () => {
  const { semaphore, ends, limits } = observed(1);
  const limited = nodeListener(limits as never, (request, response) => {
    response.write('part');
    if (request.url === '/whole') response.end();
  });
  const server = createHttp2((request, response) => limited(request as never, response as never));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  for (const [path, status] of [
    ['/whole', 200],
    ['/held', undefined],
  ] as const) {
    const stream = client.request({ ':path': path });
    await once(stream, 'data');
    if (status === undefined) stream.close();
    await areBack(semaphore);
    expect(ends.at(-1)).toBe(status);
  }
  expect(ends).toHaveLength(2);
});

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
  app.get('/stream', (context) => {
    const body = new ReadableStream({
      start: (controller) => {
        end = () => controller.close();
      },
    });
    return context.body(body, 200, { 'x-kept': 'kept' });
  });
  app.get('/empty', (context) => context.body(null, 204));
  app.get('/fails', () => {
    throw 'no error'; // hono hands on what is no Error
  });
  const response = await app.request('/stream');
  expect(response.headers.get('x-kept')).toBe('kept');
  expect((await app.request('/empty')).status).toBe(503);
  end();
  expect(await response.text()).toBe('');
  await areBack(semaphore);
  expect((await app.request('/empty')).status).toBe(204);
  await expect(async () => app.request('/fails')).rejects.toBe('no error');
  await areBack(semaphore);
  expect(ends).toEqual([200, 204, 500]);

  const leave = new AbortController();
  const held = await app.request('/stream', { signal: leave.signal });
  leave.abort();
  await held.body?.cancel();
  await areBack(semaphore);
  expect(ends.at(-1)).toBe(undefined);
});
