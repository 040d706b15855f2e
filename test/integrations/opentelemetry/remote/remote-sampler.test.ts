import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { setEnvironmentData } from 'node:worker_threads';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  type RemoteOptions,
  RemoteSampler,
  type RemoteSamplerHandle,
  samplerFrom,
} from '../../../../src/integrations/opentelemetry.ts';
import { Crew, compiled } from '../../../support/crew.ts';
import type { RemoteJob, RemoteReport } from '../../../workers/remote-sampling.ts';
import { decide, HIGHEST, isKept, LOWEST, randomTraceId } from '../spans.ts';
import {
  arrive,
  PER_OPERATION,
  PROBABILISTIC,
  put,
  RATE_LIMITING,
  StrategyServer,
  samplerOf,
} from './strategy-server.ts';

test('samples by the initial probability until the first answer', async () => {
  const server = await StrategyServer.start((response) => response.destroy());
  const scene = await samplerOf(server, { initialProbability: 0.5 });
  const { kept, counted } = arrive(scene, 10, 1000);
  expect(Math.abs(kept - 5000)).toBeLessThan(5 * 50);
  expect(counted).toBe(2 * kept);
  expect(scene.sampler.stats()).toMatchObject({ strategies: 1, probability: 0.5 });
});

test('probabilisticSampling: keeps spans with the probability, each counted', async () => {
  const scene = await samplerOf(await StrategyServer.start());
  await put(scene, PROBABILISTIC);
  const { kept, counted, uncounted } = arrive(scene, 10, 1000);
  expect(Math.abs(kept - 5000)).toBeLessThan(5 * 50);
  expect(counted).toBe(2 * kept);
  expect(uncounted).toBe(0);
  expect(decide(scene.sampler, HIGHEST)).toMatchObject({
    attributes: { 'sampler.type': 'probabilistic', 'sampler.param': 0.5 },
  });
  await put(scene, '{"probabilisticSampling":{"samplingRate":1}}');
  expect(decide(scene.sampler, LOWEST)).toMatchObject({
    attributes: { 'sampler.type': 'probabilistic', 'sampler.param': 1 },
  });
  await put(scene, '{"probabilisticSampling":{"samplingRate":0}}');
  expect(isKept(decide(scene.sampler, HIGHEST))).toBe(false);
  expect(scene.sampler.getSamplingIntent({ getValue: () => undefined } as never, HIGHEST)).toEqual({
    threshold: -1n,
    thresholdReliable: false,
  });
  expect(scene.sampler.stats().probability).toBe(0);
});

test('rateLimitingSampling: keeps that many spans a second, each counted', async () => {
  const scene = await samplerOf(await StrategyServer.start());
  await put(scene, RATE_LIMITING);
  arrive(scene, 1, 10_000);
  const { kept, counted, uncounted } = arrive(scene, 1, 100_000);
  expect(kept).toBeLessThanOrEqual(20 + 100 * 20);
  expect(kept).toBeGreaterThan(0.95 * 100 * 20);
  expect(uncounted).toBeLessThan(20);
  expect(Math.abs(counted / 100_000 - 1)).toBeLessThan(5 / Math.sqrt(2000));
  expect(decide(scene.sampler, HIGHEST)).toMatchObject({
    attributes: { 'sampler.type': 'ratelimiting', 'sampler.param': 20 },
  });
  await put(scene, '{"rateLimitingSampling":{"maxTracesPerSecond":0}}');
  expect(arrive(scene, 1, 1000).kept).toBe(0);
});

test('operationSampling: a probability for each operation, and a minimum', async () => {
  const scene = await samplerOf(await StrategyServer.start());
  await put(scene, PER_OPERATION);
  const users = arrive(scene, 10, 1000, 'GET /users');
  // 20 of its first spans by the minimum that adds up in 10 s, and 2 a second.
  expect(users.uncounted).toBeLessThanOrEqual(20 + 2);
  expect(Math.abs(users.kept - users.uncounted - 5000)).toBeLessThan(5 * 50);
  expect(users.counted).toBe(2 * (users.kept - users.uncounted));
  const other = arrive(scene, 10, 1000, 'PUT /any');
  expect(Math.abs(other.kept - other.uncounted - 2500)).toBeLessThan(5 * 45);
  // Never by its probability, which is 0, but by the minimum, which is for all operations.
  const health = arrive(scene, 10, 10_000, 'GET /health');
  expect(health).toMatchObject({ counted: 0, uncounted: health.kept });
  // The placeholder before the strategy left 10 of its 20, to which 2 s have added.
  expect(health.kept).toBeGreaterThanOrEqual(10 + 4 + 19);
  expect(health.kept).toBeLessThanOrEqual(20 + 20);
});

test('operationSampling: an upper bound over all operations', async () => {
  const scene = await samplerOf(await StrategyServer.start());
  const operationSampling = {
    defaultSamplingProbability: 1,
    defaultUpperBoundTracesPerSecond: 50,
    perOperationStrategies: [{ operation: 'rare', probabilisticSampling: { samplingRate: 0.001 } }],
  };
  await put(scene, JSON.stringify({ operationSampling }));
  arrive(scene, 1, 5000);
  const { kept, counted } = arrive(scene, 1, 20_000);
  expect(kept).toBeLessThanOrEqual(50 + 20 * 50);
  expect(kept).toBeGreaterThan(0.95 * 20 * 50);
  expect(Math.abs(counted / 20_000 - 1)).toBeLessThan(5 / Math.sqrt(1000));
  expect(arrive(scene, 1, 1000, 'rare').kept).toBeLessThan(10);
});

test('a limit of its own holds whatever the server says', async () => {
  const scene = await samplerOf(await StrategyServer.start(), { rate: 10, burst: 20 });
  for (const answer of [PROBABILISTIC, RATE_LIMITING, PER_OPERATION]) {
    await put(scene, answer);
    expect(arrive(scene, 10, 1000).kept).toBeLessThanOrEqual(20 + 10);
  }
});

test('all threads obey at once', async () => {
  const scene = await samplerOf(await StrategyServer.start());
  await put(scene, PROBABILISTIC);
  const other = RemoteSampler.attach(structuredClone(scene.sampler.handle));
  onTestFinished(() => other.close());
  expect(isKept(decide(other, LOWEST))).toBe(false);
  await put(scene, '{"probabilisticSampling":{"samplingRate":1}}');
  expect(isKept(decide(other, LOWEST))).toBe(true);
  scene.server.answer = RATE_LIMITING;
  expect(await other.poll()).toBe(true);
  let kept = 0;
  for (let i = 0; i < 1000; i++) {
    if (isKept(decide(i % 2 ? other : scene.sampler, randomTraceId(scene.random)))) kept++;
  }
  expect(kept).toBeLessThanOrEqual(20);
  expect(other.stats()).toEqual(scene.sampler.stats());
});

test('an unchanged strategy changes nothing', async () => {
  const scene = await samplerOf(await StrategyServer.start());
  await put(scene, PER_OPERATION);
  const { strategies } = scene.sampler.stats();
  await put(scene, PER_OPERATION);
  expect(scene.sampler.stats().strategies).toBe(strategies);
});

test('a strategy that takes more room than there is leaves the last in force', async () => {
  const scene = await samplerOf(await StrategyServer.start(), { maxBytes: 1000 });
  await put(scene, RATE_LIMITING);
  // Longer as it is stored, where the fields that are left out are written.
  const operations = Array.from({ length: 300 }, () => '{}').join();
  scene.server.answer = `{"operationSampling":{"perOperationStrategies":[${operations}]}}`;
  expect(scene.server.answer.length).toBeLessThan(1000);
  expect(await scene.sampler.poll()).toBe(false);
  expect(scene.errors.at(-1)).toMatchObject({
    name: 'RangeError',
    message: expect.stringMatching(/^the strategy takes \d{4,} bytes, which exceeds 1000$/),
  });
  // Its limit too, which is that of the whole process.
  expect(arrive(scene, 10, 1000).kept).toBeLessThanOrEqual(20 + 20);
  await put(scene, RATE_LIMITING);
  expect(arrive(scene, 10, 1000).kept).toBeLessThanOrEqual(20 + 20);
});

test('the least rate of a strategy is obeyed', async () => {
  const scene = await samplerOf(await StrategyServer.start());
  await put(scene, '{"rateLimitingSampling":{"maxTracesPerSecond":0.000001}}');
  expect(arrive(scene, 10, 1000).kept).toBeLessThanOrEqual(10);
});

test('samplerFrom finds it in workerData', async () => {
  const { sampler } = await samplerOf(await StrategyServer.start());
  const same = samplerFrom({ traces: sampler.handle });
  expect(`${same}`).toBe('RemoteSampler{shop}');
  (same as RemoteSampler).close();
  setEnvironmentData('zerotime.sampler.1', undefined);
});

test('names the invalid option', () => {
  const create = (options: object) => () =>
    RemoteSampler.create({ service: 'shop', ...options } as RemoteOptions).close();
  expect(create({ service: '' })).toThrow('service must be a non-empty string, got ""');
  expect(create({ endpoint: 'nowhere' })).toThrow('endpoint must be a URL, got "nowhere"');
  expect(create({ endpoint: 'ftp://a' })).toThrow('an http or https URL, got "ftp://a"');
  expect(create({ pollMs: 99 })).toThrow('pollMs must be a number at least 100');
  expect(create({ timeoutMs: 0 })).toThrow('timeoutMs must be a number at least 1');
  expect(create({ maxBytes: 1 })).toThrow('maxBytes must be an integer at least 1000');
  expect(create({ headers: { a: 1 } })).toThrow('headers.a must be a string, got 1');
  expect(create({ headers: null })).toThrow('headers must be an object');
  expect(create({ initialProbability: 2 })).toThrow('initialProbability must be a number');
  expect(create({ onError: 1 })).toThrow('onError must be a function, got 1');
  expect(create({ burst: 1 })).toThrow('burst must be a number at least 2, got 1');
  expect(create({ polMs: 1 })).toThrow('did you mean pollMs?');
  expect(create({ minimum: 1 })).toThrow('no option "minimum"');
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never);
  expect(create({})).toThrow('RemoteSampler needs Node.js 20.16 or later');
});

test.each<[string, (handle: RemoteSamplerHandle) => unknown]>([
  ['nothing', () => undefined],
  ["a sampler's", ({ sampler }) => sampler],
  ['one without settings', (handle) => ({ ...handle, settings: undefined })],
  [
    'one with other settings',
    (handle) => ({ ...handle, settings: { ...handle.settings, rate: 'x' } }),
  ],
  ['one without a board', (handle) => ({ ...handle, board: new ArrayBuffer(8) })],
  ['one without a sampler', (handle) => ({ ...handle, sampler: {} })],
])('rejects a handle: %s', async (_, change) => {
  const { sampler } = await samplerOf(await StrategyServer.start());
  const handle = change(sampler.handle) as RemoteSamplerHandle;
  expect(() => RemoteSampler.attach(handle)).toThrow(
    expect.objectContaining({ name: 'HandleError' }),
  );
});

const THREADS = 4;
const POLL_MS = 100;
/** Long enough for any machine. */
const POLLING = { timeout: 60_000, interval: 5 };

function keeping(of256: number): string {
  return JSON.stringify({ probabilisticSampling: { samplingRate: of256 / 256 } });
}

function polling(server: StrategyServer, pollMs: number): RemoteSampler {
  const { endpoint } = server;
  const quiet = { onError: () => undefined };
  const sampler = RemoteSampler.create({ service: 'shop', endpoint, pollMs, ...quiet });
  onTestFinished(() => sampler.close());
  return sampler;
}

test('4 threads obey each change under load, with one question for each interval', async () => {
  const server = await StrategyServer.start(keeping(128));
  const sampler = polling(server, POLL_MS);
  const crew = await Crew.start<RemoteJob, RemoteReport>('remote-sampling', THREADS);
  await crew.run({ handle: sampler.handle, until: 128 });
  const startedMs = performance.now();
  const pollsBefore = sampler.stats().polls;
  for (const of256 of [64, 256, 0, 192]) {
    server.answer = keeping(of256);
    for (const { kept, error } of await crew.run({ until: of256 })) {
      expect({ kept, error }).toEqual({ kept: of256 });
    }
  }
  const { polls } = sampler.stats();
  const intervals = (performance.now() - startedMs) / POLL_MS;
  // Whichever thread is first in an interval asks. The server may hear of several at once.
  expect(polls - pollsBefore).toBeLessThanOrEqual(Math.ceil(intervals) + 1);
  expect(server.asked.length).toBeLessThanOrEqual(sampler.stats().polls);
});

test('outages and nonsense under load leave the last strategy in force', async () => {
  const server = await StrategyServer.start(keeping(64));
  const sampler = polling(server, POLL_MS);
  const crew = await Crew.start<RemoteJob, RemoteReport>('remote-sampling', THREADS);
  await crew.run({ handle: sampler.handle, until: 64 });
  const word = new SharedArrayBuffer(4);
  const running = crew.run({ word });
  const failures: StrategyServer['answer'][] = ['nonsense', (response) => response.destroy()];
  for (const failure of failures) {
    const { failedPolls } = sampler.stats();
    server.answer = failure;
    await vi.waitUntil(() => sampler.stats().failedPolls > failedPolls + 1, POLLING);
  }
  new Int32Array(word)[0] = 1;
  for (const { seen, error } of await running) expect({ seen, error }).toEqual({ seen: [64] });
});

test('polling continues when the threads that polled have ended', async () => {
  const server = await StrategyServer.start(keeping(64));
  const sampler = polling(server, POLL_MS);
  const crew = await Crew.start<RemoteJob, RemoteReport>('remote-sampling', 2);
  await crew.run({ handle: sampler.handle, until: 64 });
  sampler.close();
  await crew.workers[0]?.terminate();
  server.answer = keeping(32);
  await vi.waitUntil(() => sampler.stats().strategies > 2, POLLING);
  await crew.workers[1]?.terminate();
  // No thread is left to poll: once the last poll is answered, there are no more.
  await vi.waitUntil(async () => {
    const before = server.asked.length;
    await new Promise((resolve) => setTimeout(resolve, 3 * POLL_MS));
    return server.asked.length === before;
  }, POLLING);
});

test.each<[string, StrategyServer['answer']]>([
  ['answers', keeping(64)],
  ['never answers', () => undefined],
])('polling does not keep a process running while the server %s', async (_, answer) => {
  const server = await StrategyServer.start(answer);
  const library = new URL('../../src/integrations/opentelemetry.js', compiled('remote-sampling'));
  const program = `
    import { RemoteSampler } from ${JSON.stringify(library)};
    const sampler = RemoteSampler.create({
      service: 'shop', endpoint: ${JSON.stringify(server.endpoint)}, pollMs: 100, timeoutMs: 600000,
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    console.log(sampler.stats().polls > 0);
  `;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], {
    timeout: 60_000,
  });
  expect(stdout).toBe('true\n');
});
