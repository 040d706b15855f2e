import http, { type ServerResponse } from 'node:http';
import { setEnvironmentData } from 'node:worker_threads';
import {
  type Context,
  type ContextManager,
  context,
  createContextKey,
  diag,
  ROOT_CONTEXT,
  trace,
} from '@opentelemetry/api';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ManualClock } from '../../../../src/index.ts';
import {
  type RemoteOptions,
  RemoteSampler,
  type RemoteSamplerHandle,
  type RemoteSamplerOptions,
  samplerFrom,
} from '../../../../src/integrations/opentelemetry.ts';
import { Random } from '../../../support/random.ts';
import { adjustedCount, decide, isKept, randomTraceId } from '../spans.ts';
import { PER_OPERATION, PROBABILISTIC, RATE_LIMITING, StrategyServer } from './strategy-server.ts';

const LOWEST = `${'0'.repeat(17)}1${'0'.repeat(14)}`;
const DAY_MS = 86_400_000;

/** A sampler that has polled once, and polls again only on request. */
async function samplerOf(
  server: StrategyServer,
  options: Partial<RemoteOptions & RemoteSamplerOptions> = {},
) {
  const clock = ManualClock.create();
  const errors: unknown[] = [];
  const sampler = RemoteSampler.create({
    ...{ service: 'shop', endpoint: server.endpoint, pollMs: DAY_MS, clock },
    onError: (error) => errors.push(error),
    ...options,
  });
  onTestFinished(() => sampler.close());
  return { server, sampler, clock, errors, random: new Random(1) };
}

type Scene = Awaited<ReturnType<typeof samplerOf>>;

/** Puts another answer in force. */
async function put({ server, sampler }: Scene, answer: string): Promise<void> {
  server.answer = answer;
  expect(await sampler.poll()).toBe(true);
}

/** Lets spans arrive, and returns the kept and counted ones. */
function arrive({ clock, sampler, random }: Scene, perMs: number, ms: number, name = 'span') {
  const tally = { kept: 0, counted: 0, uncounted: 0 };
  for (let i = 0; i < ms; i++) {
    clock.advance(1);
    for (let span = 0; span < perMs; span++) {
      const result = decide(sampler, randomTraceId(random), undefined, name);
      if (!isKept(result)) continue;
      tally.kept++;
      const count = adjustedCount(result.traceState);
      if (count === undefined) tally.uncounted++;
      tally.counted += count ?? 0;
    }
  }
  return tally;
}

test('samples by the initial probability until the first answer', async () => {
  const server = await StrategyServer.start((response) => response.destroy());
  const scene = await samplerOf(server, { initialProbability: 0.5 });
  const { kept, counted } = arrive(scene, 10, 1000);
  expect(Math.abs(kept - 5000)).toBeLessThan(5 * 50);
  expect(counted).toBe(2 * kept);
  expect(scene.sampler.stats()).toMatchObject({ strategies: 1, probability: 0.5 });
});

test('asks for its service', async () => {
  const server = await StrategyServer.start();
  const scene = await samplerOf(server, { service: 'a&b', endpoint: `${server.endpoint}?x=1` });
  await put(scene, PROBABILISTIC);
  expect(new Set(server.asked)).toEqual(new Set(['/sampling?x=1&service=a%26b']));
  expect(`${scene.sampler}`).toBe('RemoteSampler{a&b}');
});

test('sends headers', async () => {
  const server = await StrategyServer.start((response, { headers }) => {
    response.end(headers.authorization === 'Bearer 1' ? PROBABILISTIC : '{}');
  });
  const { sampler } = await samplerOf(server, { headers: { authorization: 'Bearer 1' } });
  expect(await sampler.poll()).toBe(true);
});

test('probabilisticSampling: keeps spans with the probability, each counted', async () => {
  const scene = await samplerOf(await StrategyServer.start());
  await put(scene, PROBABILISTIC);
  const { kept, counted, uncounted } = arrive(scene, 10, 1000);
  expect(Math.abs(kept - 5000)).toBeLessThan(5 * 50);
  expect(counted).toBe(2 * kept);
  expect(uncounted).toBe(0);
  const highest = `${'0'.repeat(18)}${'f'.repeat(14)}`;
  expect(decide(scene.sampler, highest)).toMatchObject({
    attributes: { 'sampler.type': 'probabilistic', 'sampler.param': 0.5 },
  });
  await put(scene, '{"probabilisticSampling":{"samplingRate":1}}');
  expect(decide(scene.sampler, LOWEST)).toMatchObject({
    attributes: { 'sampler.type': 'probabilistic', 'sampler.param': 1 },
  });
  await put(scene, '{"probabilisticSampling":{"samplingRate":0}}');
  expect(isKept(decide(scene.sampler, highest))).toBe(false);
  expect(scene.sampler.getSamplingIntent({ getValue: () => undefined } as never, highest)).toEqual({
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
  const highest = `${'0'.repeat(18)}${'f'.repeat(14)}`;
  expect(decide(scene.sampler, highest)).toMatchObject({
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
  expect(health.kept).toBeGreaterThanOrEqual(20 + 19);
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
  const low = `${'0'.repeat(17)}100000000000000`;
  expect(isKept(decide(other, low))).toBe(false);
  await put(scene, '{"probabilisticSampling":{"samplingRate":1}}');
  expect(isKept(decide(other, low))).toBe(true);
  scene.server.answer = RATE_LIMITING;
  expect(await other.poll()).toBe(true);
  let kept = 0;
  for (let i = 0; i < 1000; i++) {
    if (isKept(decide(i % 2 ? other : scene.sampler, randomTraceId(scene.random)))) kept++;
  }
  expect(kept).toBeLessThanOrEqual(20);
  expect(other.stats()).toEqual(scene.sampler.stats());
});

const broken: readonly [string, (response: ServerResponse) => void][] = [
  ['a closed connection', (response) => response.destroy()],
  ['an error', (response) => response.writeHead(500).end(PROBABILISTIC)],
  ['a redirection', (response) => response.writeHead(302, { location: '/' }).end()],
  ['nothing', (response) => response.end()],
  ['nonsense', (response) => response.end('<html>')],
  ['no strategy', (response) => response.end('{}')],
  [
    'half an answer',
    (response) => {
      response.writeHead(200, { 'content-length': PROBABILISTIC.length });
      response.write(PROBABILISTIC.slice(0, 20), () => response.destroy());
    },
  ],
  ['too much', (response) => response.end(`${' '.repeat(2000)}${PROBABILISTIC}`)],
];
const endless: readonly ((response: ServerResponse) => void)[] = [
  (response) => response.write(PROBABILISTIC),
  () => {},
];

async function keepsTheLastIfSent(
  answer: (response: ServerResponse) => void,
  timeoutMs: number,
): Promise<void> {
  const scene = await samplerOf(await StrategyServer.start(), { maxBytes: 1000, timeoutMs });
  await put(scene, RATE_LIMITING);
  const before = scene.sampler.stats();
  const failed = scene.errors.length;
  scene.server.answer = answer;
  expect(await scene.sampler.poll()).toBe(false);
  expect(scene.errors.length).toBeGreaterThan(failed);
  expect(scene.errors.at(-1)).toBeInstanceOf(Error);
  expect(scene.sampler.stats()).toMatchObject({
    strategies: before.strategies,
    failedPolls: before.failedPolls + 1,
  });
  expect(arrive(scene, 10, 1000).kept).toBeLessThanOrEqual(20 + 20);
  await put(scene, PROBABILISTIC);
  expect(arrive(scene, 10, 1000).kept).toBeGreaterThan(4000);
}

test.each(broken)('keeps the last good strategy if the server sends %s', (_, answer) =>
  // None may be taken for no answer on a machine that is slow.
  keepsTheLastIfSent(answer, 60_000),
);

test('keeps the last good strategy if the server sends no end, or no answer', async () => {
  await Promise.all(endless.map((answer) => keepsTheLastIfSent(answer, 2000)));
});

test('keeps the last good strategy while the server is down', async () => {
  const scene = await samplerOf(await StrategyServer.start());
  await put(scene, PROBABILISTIC);
  await scene.server.stop();
  expect(await scene.sampler.poll()).toBe(false);
  expect(arrive(scene, 10, 1000).kept).toBeGreaterThan(4000);
});

test('an answer that is overtaken by a later one is not obeyed', async () => {
  let slow: ServerResponse | undefined;
  const scene = await samplerOf(await StrategyServer.start());
  await put(scene, PROBABILISTIC);
  const asked = new Promise<void>((resolve) => {
    scene.server.answer = (response) => {
      slow = response;
      resolve();
    };
  });
  const first = scene.sampler.poll();
  await asked;
  await put(scene, '{"probabilisticSampling":{"samplingRate":1}}');
  const { strategies } = scene.sampler.stats();
  slow?.end(RATE_LIMITING);
  expect(await first).toBe(true);
  expect(scene.sampler.stats()).toMatchObject({ strategies, probability: 1 });
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
  expect(scene.errors.at(-1)).toBeInstanceOf(RangeError);
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

test('polls are not traced, and belong to no request that is being served', async () => {
  const { get } = http;
  const contexts: Context[] = [];
  let active = ROOT_CONTEXT;
  const manager: ContextManager = {
    active: () => active,
    with(inner, call, that, ...args) {
      const outer = active;
      active = inner;
      try {
        return call.apply(that as never, args);
      } finally {
        active = outer;
      }
    },
    bind: (_, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  context.disable(); // another file's
  context.setGlobalContextManager(manager);
  onTestFinished(() => context.disable());
  vi.spyOn(http, 'get').mockImplementation((...args: unknown[]) => {
    contexts.push(context.active());
    return Reflect.apply(get, http, args);
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const span = trace.wrapSpanContext({ traceId: LOWEST, spanId: '1'.repeat(16), traceFlags: 1 });
  const server = await StrategyServer.start();
  const { sampler } = await context.with(trace.setSpan(ROOT_CONTEXT, span), () =>
    samplerOf(server),
  );
  expect(await sampler.poll()).toBe(true);
  expect(contexts).toHaveLength(2);
  const key = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');
  for (const each of contexts) {
    expect(each.getValue(key)).toBe(true);
    expect(trace.getSpan(each)).toBeUndefined();
  }
});

test('failed polls are reported to diag, and an onError that throws is ignored', async () => {
  const server = await StrategyServer.start('{}');
  const warn = vi.spyOn(diag, 'warn').mockReturnValue();
  const quiet = RemoteSampler.create({ service: 'a', endpoint: server.endpoint, pollMs: DAY_MS });
  onTestFinished(() => quiet.close());
  expect(await quiet.poll()).toBe(false);
  expect(warn).toHaveBeenCalledWith('zerotime: no new sampling strategy', expect.any(TypeError));
  const { sampler } = await samplerOf(server, {
    onError: () => {
      throw new Error('mine');
    },
  });
  expect(await sampler.poll()).toBe(false);
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
