import http, { type ServerResponse } from 'node:http';
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
import { RemoteSampler } from '../../../../src/integrations/opentelemetry.ts';
import { LOWEST } from '../spans.ts';
import {
  arrive,
  DAY_MS,
  PROBABILISTIC,
  put,
  RATE_LIMITING,
  StrategyServer,
  samplerOf,
} from './strategy-server.ts';

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
  [
    'another protocol',
    ({ socket }) =>
      socket?.end('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: mine\r\n\r\n'),
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

// docs/tracing.md: "It never throws into the traced program"
test('failed polls are reported to diag, and an onError that throws or rejects is ignored', async () => {
  const server = await StrategyServer.start('{}');
  const warn = vi.spyOn(diag, 'warn').mockReturnValue();
  const quiet = RemoteSampler.create({ service: 'a', endpoint: server.endpoint, pollMs: DAY_MS });
  onTestFinished(() => quiet.close());
  expect(await quiet.poll()).toBe(false);
  expect(warn).toHaveBeenCalledWith('zerotime: no new sampling strategy', expect.any(TypeError));
  const throws = () => {
    throw new Error('mine');
  };
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  for (const onError of [throws, async () => throws()]) {
    const { sampler } = await samplerOf(server, { onError });
    expect(await sampler.poll()).toBe(false);
  }
  await new Promise(setImmediate);
  expect(unhandled).toEqual([]);
});
