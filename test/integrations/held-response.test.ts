import { expect, test } from 'vitest';
import { Semaphore, TokenBucket } from '../../src/index.ts';
import { rateLimitedFetch } from '../../src/integrations/fetch.ts';
import { retryAfterMs } from '../../src/integrations/outgoing/turns.ts';
import { Api } from '../support/api.ts';
import { until } from '../support/settled.ts';

/** A limited fetch that answers with a body of these chunks. */
function answering(chunks: readonly unknown[]) {
  const semaphore = Semaphore.create({ permits: 1 });
  let isCancelled = false;
  const fetch = rateLimitedFetch({
    semaphore,
    fetch: async () => {
      const left = [...chunks];
      const body = new ReadableStream({
        pull(controller) {
          if (left.length === 0) controller.close();
          else controller.enqueue(left.shift());
        },
        cancel() {
          isCancelled = true;
        },
      });
      return new Response(body);
    },
  });
  return { semaphore, fetch, isCancelled: () => isCancelled };
}

test('a response of any status keeps its fields, and so do its clones', async () => {
  const api = await Api.start((_, response) => response.writeHead(999, 'Denied').end('no'));
  const semaphore = Semaphore.create({ permits: 1 });
  const response = await rateLimitedFetch({ semaphore })(api.url);
  const copy = response.clone().clone();
  for (const { status, statusText, ok, url, type, redirected } of [response, copy]) {
    expect([status, statusText, ok, url]).toEqual([999, 'Denied', false, api.url]);
    expect([type, redirected]).toEqual(['basic', false]);
  }
  expect([await response.text(), await copy.text()]).toEqual(['no', 'no']);
  await until(() => semaphore.inUse() === 0);
});

test('bodies may have empty chunks, and keep the bytes they gave', async () => {
  const bytes = Uint8Array.of(104, 105);
  const shared = new Uint8Array(new SharedArrayBuffer(2));
  shared.set(bytes);
  const { semaphore, fetch } = answering([new Uint8Array(0), bytes, Buffer.from('!'), shared]);
  for (let n = 0; n < 2; n++) {
    expect(await (await fetch('http://a.example/')).text()).toBe('hi!hi');
    await until(() => semaphore.inUse() === 0);
  }
  expect([...bytes]).toEqual([104, 105]);
});

test('a body that is no bytes fails, and returns its permit', async () => {
  const { semaphore, fetch, isCancelled } = answering(['text', 'more']);
  await expect((await fetch('http://a.example/')).text()).rejects.toThrow(TypeError);
  await until(() => semaphore.inUse() === 0);
  expect(isCancelled()).toBe(true);
});

test('takes whatever fetch takes for a URL', async () => {
  const limiter = TokenBucket.create({ rate: 1, burst: 1 });
  const keys: string[] = [];
  const key = ({ href }: URL) => {
    keys.push(href);
    return href;
  };
  const fetch = rateLimitedFetch({ limiter, key, fetch: async () => new Response('ok') });
  const address = { toString: () => 'http://a.example/b' };
  expect(await (await fetch(address as URL)).text()).toBe('ok');
  expect(keys).toEqual(['http://a.example/b']);
});

const DATE = 'Sun, 06 Nov 1994 08:49:37 GMT';

test.each([
  ['0', 0],
  ['120', 120_000],
  [' 1.5 ', 1500],
  ['Sun, 06 Nov 1994 08:49:40 GMT', 3000],
  ['Sunday, 06-Nov-94 08:49:40 GMT', 3000],
  ['Sun Nov  6 08:49:40 1994', 3000],
  ['Sun, 06 Nov 1994 08:49:30 GMT', 0],
  ['-5', undefined],
  ['', undefined],
  ['1e3', undefined],
  ['soon', undefined],
  ['Sunday', undefined],
  ['1994-11-06T08:49:40Z', undefined],
])('retryAfterMs of %j is %j', (retryAfter, ms) => {
  expect(retryAfterMs({ retryAfter, date: DATE })).toBe(ms);
});

test("a date counts from this machine's clock if the answer has none", () => {
  const retryAfter = new Date(Date.now() + 60_000).toUTCString();
  for (const date of [undefined, 'yesterday']) {
    const ms = retryAfterMs({ retryAfter, date }) ?? 0;
    expect(ms).toBeGreaterThan(0);
    expect(ms).toBeLessThanOrEqual(60_000);
  }
  expect(retryAfterMs({ retryAfter: undefined, date: DATE })).toBe(undefined);
});
