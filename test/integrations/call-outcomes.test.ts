import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { ManualClock, Semaphore } from '../../src/index.ts';
import { rateLimitedFetch } from '../../src/integrations/fetch.ts';
import { rateLimit } from '../../src/integrations/undici.ts';
import { throttled } from '../../src/throttle.ts';

// What integrations tell a semaphore that adapts of the calls behind it.

const timeout = Object.assign(new Error('late'), { name: 'HeadersTimeoutError' });
const refused = new Error('connection refused');

function make() {
  const clock = ManualClock.create();
  const permits = { max: 20, initial: 4 };
  return Semaphore.create({ permits, adapt: 'aimd', clock });
}

function dropped(semaphore: Semaphore): number {
  expect(semaphore.inUse()).toBe(0);
  return semaphore.adaptation?.dropped ?? 0;
}

test('a throttled function tells timeouts, or what outcomeOf says', async () => {
  const semaphore = make();
  const fail = (error: Error) => Promise.reject(error);
  const byDefault = throttled(fail, { semaphore });
  for (const error of [refused, timeout]) await expect(byDefault(error)).rejects.toBe(error);
  expect(dropped(semaphore)).toBe(1);
  const outcomeOf = (error: unknown) => (error === refused ? 'dropped' : 'ignore');
  const chosen = throttled(fail, { semaphore, outcomeOf });
  for (const error of [refused, timeout]) await expect(chosen(error)).rejects.toBe(error);
  expect(dropped(semaphore)).toBe(2);
  const wrong = { semaphore, outcomeOf: 'dropped' as never };
  expect(() => throttled(fail, wrong)).toThrow('outcomeOf must be a function, got "dropped"');
});

test.each([
  [200, 0],
  [404, 0],
  [429, 1],
  [500, 0],
  [503, 1],
])('fetch tells a response of status %d', async (status, expected) => {
  const semaphore = make();
  const send = async () => new Response('body', { status });
  const fetch = rateLimitedFetch({ semaphore, fetch: send, maxRetryAfterMs: 0 });
  await (await fetch('http://localhost/')).text();
  expect(dropped(semaphore)).toBe(expected);
});

test.each([
  [timeout, 1],
  [new TypeError('fetch failed', { cause: timeout }), 1],
  [refused, 0],
])('fetch tells the failure %o', async (error, expected) => {
  const semaphore = make();
  const fetch = rateLimitedFetch({ semaphore, fetch: () => Promise.reject(error) });
  await expect(fetch('http://localhost/')).rejects.toBe(error);
  expect(dropped(semaphore)).toBe(expected);
});

test.each([
  [200, timeout, 1],
  [200, refused, 0],
  [503, refused, 1],
])('fetch tells how the body of a response with status %d fails: %o', async (...given) => {
  const [status, error, expected] = given;
  const semaphore = make();
  const body = new ReadableStream({ pull: (controller) => controller.error(error) });
  const send = async () => new Response(body, { status });
  const fetch = rateLimitedFetch({ semaphore, fetch: send });
  const response = await fetch('http://localhost/');
  await expect(response.text()).rejects.toBe(error);
  expect(dropped(semaphore)).toBe(expected);
});

test.each<[string, (handler: Dispatcher.DispatchHandler) => void, number]>([
  ['the status 503', (handler) => handler.onResponseStart?.({} as never, 503, {}, ''), 1],
  ['the status 200', (handler) => handler.onResponseStart?.({} as never, 200, {}, ''), 0],
  ['a timeout', (handler) => handler.onResponseError?.({} as never, timeout), 1],
  [
    'the status 503 of a response that fails',
    (handler) => {
      handler.onResponseStart?.({} as never, 503, {}, '');
      handler.onResponseError?.({} as never, refused);
    },
    1,
  ],
  ['another failure', (handler) => handler.onResponseError?.({} as never, refused), 0],
])('undici tells %s', (_, answer, expected) => {
  const semaphore = make();
  const send: Dispatcher['dispatch'] = (_request, handler) => {
    answer(handler);
    handler.onResponseEnd?.({} as never, {});
    return true;
  };
  const dispatch = rateLimit({ semaphore, maxRetryAfterMs: 0 })(send);
  const handler: Dispatcher.DispatchHandler = { onRequestStart: () => undefined };
  dispatch({ origin: 'http://localhost', path: '/', method: 'GET' }, handler);
  expect(dropped(semaphore)).toBe(expected);
});
