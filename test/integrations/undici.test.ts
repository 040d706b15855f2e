import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { Agent, Client, interceptors, request, fetch as undiciFetch } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { KeyedTokenBucket, Semaphore, TokenBucket } from '../../src/index.ts';
import { rateLimitedFetch } from '../../src/integrations/fetch.ts';
import { type RateLimitOptions, rateLimit } from '../../src/integrations/undici.ts';
import { Api } from '../support/api.ts';
import { Crew } from '../support/crew.ts';
import { bucketOf } from '../support/manual-bucket.ts';
import { settled, until } from '../support/settled.ts';
import type { OutgoingJob } from '../workers/outgoing-client.ts';

/** Too slow for a token to come. */
const NEVER = 1e-6;

function newAgent(): Agent {
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  return agent;
}

test('each attempt of the retry interceptor takes a token, and permits come back between them', async () => {
  const statuses = [503, 500, 200];
  const api = await Api.start((_, response) =>
    response.writeHead(statuses.shift() ?? 200).end('!'),
  );
  const limiter = TokenBucket.create({ rate: NEVER, burst: 10 });
  const semaphore = Semaphore.create({ permits: 1 });
  const dispatcher = newAgent().compose(
    rateLimit({ limiter, semaphore }),
    interceptors.retry({ minTimeout: 1, maxTimeout: 1 }),
  );
  const { statusCode, body } = await request(api.url, { dispatcher });
  expect([statusCode, await body.text(), api.paths.length]).toEqual([200, '!', 3]);
  expect(limiter.available()).toBeCloseTo(7, 5);
  expect(semaphore.inUse()).toBe(0);
});

test('a retry fails with the refusal of its token, and takes nothing', async () => {
  const api = await Api.start((_, response) => response.writeHead(500).end());
  const limiter = TokenBucket.create({ rate: NEVER, burst: 2 });
  const dispatcher = newAgent().compose(
    rateLimit({ limiter, timeoutMs: 1000 }),
    interceptors.retry({ minTimeout: 1, maxTimeout: 1 }),
  );
  await expect(request(api.url, { dispatcher })).rejects.toMatchObject({
    code: 'ERR_RATE_LIMIT_TIMEOUT',
  });
  expect(api.paths).toHaveLength(2);
});

test('each redirect takes a token of the origin that it goes to', async () => {
  const target = await Api.start((_, response) => response.end('here'));
  const api = await Api.start((_, response) =>
    response.writeHead(302, { location: `${target.url}there` }).end(),
  );
  const limiter = KeyedTokenBucket.create({ rate: NEVER, burst: 5, capacity: 10 });
  const dispatcher = newAgent().compose(
    rateLimit({ limiter }),
    interceptors.redirect({ maxRedirections: 1 }),
  );
  const { body } = await request(api.url, { dispatcher });
  expect(await body.text()).toBe('here');
  const left = [api, target].map(({ url }) => limiter.available(new URL(url).origin));
  expect(left.map(Math.round)).toEqual([4, 4]);
});

test('keys are functions of the request, and the origin of a client of one origin', async () => {
  const api = await Api.start((_, response) => response.end());
  const limiter = KeyedTokenBucket.create({ rate: NEVER, burst: 1, capacity: 10 });
  const byPath = newAgent().compose(rateLimit({ limiter, key: ({ path }) => path, timeoutMs: 0 }));
  const refused = { code: 'ERR_RATE_LIMIT_TIMEOUT' };
  await request(`${api.url}a`, { dispatcher: byPath });
  await request(`${api.url}b`, { dispatcher: byPath });
  await expect(request(`${api.url}a`, { dispatcher: byPath })).rejects.toMatchObject(refused);
  const client = new Client(api.url);
  onTestFinished(() => client.destroy());
  const ofOne = client.compose(rateLimit({ limiter, timeoutMs: 0 }));
  await ofOne.request({ path: '/', method: 'GET' });
  await expect(ofOne.request({ path: '/', method: 'GET' })).rejects.toMatchObject(refused);
  const fetch = rateLimitedFetch({ limiter, key: ({ pathname }) => pathname, timeoutMs: 0 });
  await fetch(`${api.url}c`);
  await expect(fetch(new Request(`${api.url}c`))).rejects.toMatchObject(refused);
  await expect(fetch(new URL(`${api.url}b`))).rejects.toMatchObject(refused);
  const permits = { semaphore: Semaphore.create({ permits: 1 }) };
  const late = rateLimitedFetch({ ...permits, key: (async () => 'd') as never });
  await expect(late(api.url)).rejects.toThrow('key must be a string, a number or a bigint, got an');
});

test("undici's own fetch can abort a request that waits, and is limited", async () => {
  const api = await Api.start((_, response) => response.end('ok'));
  const limiter = TokenBucket.create({ rate: NEVER, burst: 1 });
  const dispatcher = newAgent().compose(rateLimit({ limiter }));
  expect(await (await undiciFetch(api.url, { dispatcher })).text()).toBe('ok');
  const end = new AbortController();
  const second = undiciFetch(api.url, { dispatcher, signal: end.signal });
  await settled();
  end.abort();
  await expect(second).rejects.toMatchObject({ name: 'AbortError' });
  expect(api.paths).toHaveLength(1);
});

test('an abort between the turn and the first byte aborts the request', async () => {
  const { api, clock } = await Api.clocked();
  const semaphore = Semaphore.create({ permits: 1, clock });
  const limiter = TokenBucket.create({ rate: 1000, burst: 1, initial: 0, clock });
  const dispatcher = newAgent().compose(rateLimit({ limiter, semaphore }));
  const end = new AbortController();
  const sent = request(api.url, { dispatcher, signal: end.signal });
  sent.catch(() => undefined);
  await settled();
  clock.advance(1);
  await until(() => limiter.waiting === 0); // it has its turn, and no connection yet
  end.abort();
  await expect(sent).rejects.toMatchObject({ name: 'AbortError' });
  await until(() => semaphore.inUse() === 0);
});

test('a body that fails while its request waits fails the request', async () => {
  const { api, clock } = await Api.clocked();
  const semaphore = Semaphore.create({ permits: 1, clock });
  const limiter = TokenBucket.create({ rate: 1000, burst: 1, initial: 0, clock });
  const dispatcher = newAgent().compose(rateLimit({ limiter, semaphore }));
  const body = new Readable({ read: () => undefined });
  const sent = request(api.url, { dispatcher, method: 'POST', body });
  sent.catch(() => undefined);
  await settled();
  const failure = new Error('the disk failed');
  body.destroy(failure);
  await expect(sent).rejects.toBe(failure);
  await settled();
  expect([semaphore.inUse(), limiter.balance(), api.paths.length]).toEqual([0, 0, 0]);
});

test('a body is not listened to once its request has started', async () => {
  const { api, clock } = await Api.clocked((incoming, response) => incoming.pipe(response));
  const limiter = TokenBucket.create({ rate: 1000, burst: 1, initial: 0, clock });
  const dispatcher = newAgent().compose(rateLimit({ limiter }));
  const body = Readable.from(['text'], { objectMode: false });
  const sent = request(api.url, { dispatcher, method: 'POST', body });
  await settled();
  const [ours] = body.listeners('error');
  expect(ours).toBeTypeOf('function');
  clock.advance(1);
  expect(await (await sent).body.text()).toBe('text');
  expect(body.listeners('error')).not.toContain(ours); // undici keeps one
});

test('an agent that is destroyed meanwhile fails the requests that wait, whose permits come back', async () => {
  const api = await Api.start();
  const { clock, limiter } = bucketOf(1, 1);
  const semaphore = Semaphore.create({ permits: 2, clock });
  const agent = new Agent();
  const dispatcher = agent.compose(rateLimit({ limiter, semaphore }));
  const replies = [1, 2].map((n) => request(api.url + n, { dispatcher }));
  for (const reply of replies) reply.catch(() => undefined);
  await api.arrivals(1);
  await agent.destroy();
  clock.advance(950);
  await settled();
  clock.advance(50);
  for (const reply of replies) await expect(reply).rejects.toThrow('destroyed');
  await until(() => semaphore.inUse() === 0);
});

test('an upgraded connection keeps its permit until it closes', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const sockets: Socket[] = [];
  server.on('upgrade', (_, socket: Socket) => {
    sockets.push(socket);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n');
  });
  const semaphore = Semaphore.create({ permits: 1 });
  const client = new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => client.destroy());
  const { socket } = await client
    .compose(rateLimit({ semaphore }))
    .upgrade({ path: '/', protocol: 'x' });
  expect(semaphore.inUse()).toBe(1);
  sockets[0]?.destroy();
  socket.on('error', () => undefined).resume();
  await until(() => semaphore.inUse() === 0);
});

// docs/outgoing.md: "Requests take their tokens right before"
test('keeps one rate and one number in flight over threads, with both clients', async () => {
  const threads = 3;
  const requests = 30;
  let inFlight = 0;
  let most = 0;
  const api = await Api.start((_, response) => {
    most = Math.max(most, ++inFlight);
    // Long enough for others to arrive; the order of events decides, not the time.
    setImmediate(() =>
      setImmediate(() => {
        inFlight--;
        response.end('ok');
      }),
    );
  });
  const limiter = TokenBucket.create({ rate: NEVER, burst: 70 });
  const semaphore = Semaphore.create({ permits: 4 });
  const crew = await Crew.start<OutgoingJob, number>('outgoing-client', threads);
  const job = { url: api.url, requests, limiter: limiter.handle, semaphore: semaphore.handle };
  const answered = await crew.run({ ...job });
  expect(answered.reduce((sum, count) => sum + count)).toBe(70);
  expect(api.paths).toHaveLength(70);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(4);
  expect([semaphore.inUse(), Math.floor(limiter.available())]).toEqual([0, 0]);
});

test('refuses invalid options, naming them', () => {
  const limiter = TokenBucket.create({ rate: 1, burst: 1 });
  const _semaphore = Semaphore.create({ permits: 1 });
  const cases: [options: object, message: string][] = [
    [{}, 'options must have a limiter or a semaphore'],
    [{ limiter: {} }, 'limiter must be a limiter, got an object'],
    [{ limiter, semaphore: limiter }, 'semaphore must be a Semaphore, got an object'],
    [{ limiter, key: 'host' }, `key must be 'origin' or a function, got "host"`],
    [{ limiter, timeout: 5 }, 'options has no option "timeout"; did you mean timeoutMs?'],
    [{ limiter, timeoutMs: -1 }, 'timeoutMs must be a number at least 0, or Infinity, got -1'],
    [
      { limiter, retryAfterMs: '1' },
      'retryAfterMs must be a number at least 0, or Infinity, got "1"',
    ],
    [
      { limiter, maxRetryAfterMs: 1e12 },
      'maxRetryAfterMs must be a number at least 0 and at most 100000000000, got 1000000000000',
    ],
  ];
  for (const [options, message] of cases) {
    expect(() => rateLimit(options as RateLimitOptions)).toThrow(message);
    expect(() => rateLimitedFetch(options)).toThrow(message);
  }
  const wrong = { limiter, fetch: 5 } as unknown as Parameters<typeof rateLimitedFetch>[0];
  expect(() => rateLimitedFetch(wrong)).toThrow('fetch must be a function, got 5');
});
