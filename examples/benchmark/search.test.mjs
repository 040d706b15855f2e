// A benchmark that fails when the search becomes slow or wrong: npx vitest run search.test.mjs
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { drive } from 'zerotime/load';
import { search } from './search.mjs';

/** @type {Worker} */
let server;
let url = '';

beforeAll(async () => {
  server = new Worker(new URL('server.mjs', import.meta.url));
  const [port] = await once(server, 'message');
  url = `http://127.0.0.1:${port}/a`;
});
afterAll(() => server.terminate());

test('the search finds what it should', () => {
  for (const word of search('a')) expect(word).toMatch(/^a/);
  expect(search('a')).toHaveLength(10);
  expect(search('_')).toEqual([]);
});

test('at 300 requests a second, the server answers each in time', async () => {
  const result = await drive({
    target: { url },
    rate: 300,
    threads: 1,
    durationMs: 2000,
    gates: [
      { kind: 'errors', maxShare: 0 },
      // Generous, for shared runners: tighten them on a machine of your own.
      { kind: 'latency', percentile: 99, maxMs: 1000 },
      { kind: 'rate', minShare: 0 },
    ],
  });
  expect(result.verdict.reasons).toEqual([]);
  expect(result.guarantee?.held).toBe(true); // no interval had more requests than it may have
  console.log(`p99 ${result.times.response.ms?.p99} ms`);
});

test('two threads search as fast as they can', async () => {
  const result = await drive({
    task: new URL('task.mjs', import.meta.url),
    rate: Number.POSITIVE_INFINITY,
    threads: 2,
    durationMs: 500,
  });
  expect(result.verdict.reasons).toEqual([]);
  console.log(`${Math.round(result.closed?.callsPerSecond?.median ?? 0)} searches a second`);
});
