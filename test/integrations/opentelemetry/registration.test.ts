import { EventEmitter, once } from 'node:events';
import { setEnvironmentData } from 'node:worker_threads';
import type { Sampler } from '@opentelemetry/api';
import { afterEach, expect, test, vi } from 'vitest';
import { ManualClock, TokenBucket } from '../../../src/index.ts';
import {
  autoInstrumentations,
  register,
} from '../../../src/integrations/opentelemetry/registration.ts';
import {
  ConsistentRateLimitingSampler,
  samplerFrom,
} from '../../../src/integrations/opentelemetry.ts';
import { Crew } from '../../support/crew.ts';
import { PATIENCE_MS, withResolvers } from '../../support/settled.ts';
import type { SamplerUse, SamplerUsed } from '../../workers/sampler-user.ts';
import { decide, HIGHEST, isKept } from './spans.ts';

// test/docs/programs.test.ts loads the entry point into real threads, with the real SDK.

afterEach(() => setEnvironmentData('zerotime.sampler.1', undefined));

/** A process whose signals and end the test decides on. */
class SomeProcess extends EventEmitter {
  readonly pid = 123;
  readonly kill = vi.fn();
  readonly env: Record<string, string>;

  constructor(env: Record<string, string> = {}) {
    super();
    this.env = env;
  }
}

/** An SDK that records its calls. */
function sdk() {
  const calls: string[] = [];
  let ended = Promise.resolve();
  class Telemetry {
    constructor(given: { readonly sampler: Sampler; readonly instrumentations: string[] }) {
      calls.push(`${given.sampler} ${given.instrumentations}`);
    }
    start(): void {
      calls.push('start');
    }
    shutdown(): Promise<void> {
      calls.push('shutdown');
      return ended;
    }
  }
  const endWith = (promise: Promise<void>) => {
    ended = promise;
  };
  return { Telemetry, calls, endWith };
}

async function registered(mostMs?: number) {
  vi.stubEnv('ZEROTIME_TRACES_PER_SECOND', '50');
  const traced = new SomeProcess();
  const { Telemetry, ...rest } = sdk();
  await register(Telemetry, traced, async () => ['http', 'pg'], mostMs);
  return { traced, ...rest };
}

test("starts the SDK with this process's sampler, and ends it when the thread has nothing to do", async () => {
  const { traced, calls } = await registered();
  expect(calls).toEqual(['ConsistentRateLimitingSampler{50} http,pg', 'start']);
  traced.emit('beforeExit');
  traced.emit('beforeExit'); // what the shutdown did is over too
  expect(calls.slice(2)).toEqual(['shutdown']);
});

test('exports the remaining spans, then lets the signal end the process', async () => {
  const { traced, endWith, calls } = await registered();
  const { promise, resolve: end } = withResolvers();
  endWith(promise);
  traced.emit('SIGTERM');
  expect(calls).toContain('shutdown');
  expect(traced.kill).not.toHaveBeenCalled();
  end();
  await vi.waitFor(() => expect(traced.kill).toHaveBeenCalledWith(123, 'SIGTERM'), PATIENCE_MS);
});

test('ends the process although the last export failed', async () => {
  const { traced, endWith } = await registered();
  endWith(Promise.reject(new Error('no collector')));
  traced.emit('SIGTERM');
  await vi.waitFor(() => expect(traced.kill).toHaveBeenCalled(), PATIENCE_MS);
});

// docs/sampling.md: "This delays the end of the process"
test('ends the process although the last export never ends', async () => {
  const { traced, endWith } = await registered(1);
  endWith(new Promise(() => {}));
  traced.emit('SIGTERM');
  await vi.waitFor(() => expect(traced.kill).toHaveBeenCalled(), PATIENCE_MS);
});

test('leaves the end to a program that handles the signal itself', async () => {
  const { traced, calls } = await registered();
  const handled = once(traced, 'SIGTERM');
  traced.emit('SIGTERM');
  await handled;
  await new Promise(setImmediate);
  expect(calls).toContain('shutdown');
  expect(traced.kill).not.toHaveBeenCalled();
});

test('needs no settings where the SDK is disabled', async () => {
  const { Telemetry, calls } = sdk();
  const traced = new SomeProcess({ OTEL_SDK_DISABLED: ' TRUE' });
  await register(Telemetry, traced, async () => []);
  expect([calls, traced.eventNames()]).toEqual([[], []]);
});

test('names the missing package, before anything starts', async () => {
  const { Telemetry, calls } = sdk();
  const starting = register(Telemetry, new SomeProcess(), async () => []);
  await expect(starting).rejects.toThrow('ZEROTIME_TRACES_PER_SECOND must be set');
  expect(calls).toEqual([]);
});

test('takes the instrumentations of the package, if it is installed', async () => {
  const notFound = (name: string) => {
    const message = `Cannot find package '${name}' imported from /app/index.mjs`;
    return Promise.reject(Object.assign(new Error(message), { code: 'ERR_MODULE_NOT_FOUND' }));
  };
  expect(await autoInstrumentations(notFound)).toEqual([]);
  const load = vi.fn(async () => ({ getNodeAutoInstrumentations: () => ['http'] }));
  expect(await autoInstrumentations(load)).toEqual(['http']);
  expect(load).toHaveBeenCalledWith('@opentelemetry/auto-instrumentations-node');
  // One that it needs is another matter.
  await expect(autoInstrumentations(() => notFound('pg'))).rejects.toThrow("'pg'");
});

test('starts nothing where threads could not find the sampler', async () => {
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never);
  await expect(registered()).rejects.toThrow('register needs Node.js 20.16 or later');
});

function create() {
  return ConsistentRateLimitingSampler.create({ rate: 7, clock: ManualClock.create() });
}

/** Two samplers are the same if one spends the other's tokens. */
function spend(sampler: Sampler, most = 1000): number {
  let kept = 0;
  while (kept < most && isKept(decide(sampler, HIGHEST))) kept++;
  return kept;
}

test.each<[string, (handle: object) => unknown]>([
  ['the handle itself', (handle) => handle],
  ['workerData with the handle', (handle) => ({ me: 1, traces: handle, other: null })],
])('takes the sampler from %s', (_, sourceOf) => {
  const sampler = create();
  const same = samplerFrom(sourceOf(sampler.handle));
  expect(spend(same)).toBe(10);
  expect(spend(sampler)).toBe(0);
  // The next call, with nothing, finds it too.
  expect(`${samplerFrom()}`).toBe('ConsistentRateLimitingSampler{7}');
  expect(spend(samplerFrom(null))).toBe(0);
});

test('passes a limiter by', () => {
  const sampler = create();
  const { handle } = TokenBucket.create({ rate: 1, burst: 1 });
  expect(`${samplerFrom({ limiter: handle, traces: sampler.handle })}`).toContain('{7}');
});

// docs/sampling.md: "Default: the rate, at least 10."
test('has a burst of the rate by default, at least 10', () => {
  vi.stubEnv('ZEROTIME_TRACES_PER_SECOND', '0.001');
  expect(spend(samplerFrom())).toBe(10);
  const clock = ManualClock.create();
  expect(spend(ConsistentRateLimitingSampler.create({ rate: 50, clock }))).toBe(50);
});

test('creates it from the environment, once', () => {
  vi.stubEnv('ZEROTIME_TRACES_PER_SECOND', '0.001');
  vi.stubEnv('ZEROTIME_TRACES_BURST', '20');
  const sampler = samplerFrom();
  expect(`${sampler}`).toBe('ConsistentRateLimitingSampler{0.001}');
  expect(spend(sampler)).toBe(20);
  expect(spend(samplerFrom())).toBe(0);
});

test('passes on how this thread uses it', () => {
  vi.stubEnv('ZEROTIME_TRACES_PER_SECOND', '50');
  const sampler = samplerFrom(undefined, { randomness: 'explicit' });
  expect(decide(sampler, HIGHEST).traceState?.serialize()).toMatch(/^ot=th:0;rv:/);
});

test('names the missing or wrong option', () => {
  expect(() => samplerFrom({ traces: 1 })).toThrow(
    new TypeError(
      "ZEROTIME_TRACES_PER_SECOND must be set, or the argument must contain a sampler's handle",
    ),
  );
  vi.stubEnv('ZEROTIME_TRACES_PER_SECOND', 'many');
  expect(() => samplerFrom()).toThrow(
    new RangeError('ZEROTIME_TRACES_PER_SECOND must be a number, got "many"'),
  );
  vi.stubEnv('ZEROTIME_TRACES_PER_SECOND', '-1');
  expect(() => samplerFrom()).toThrow('ZEROTIME_TRACES_PER_SECOND must be a number at least 0');
  vi.stubEnv('ZEROTIME_TRACES_PER_SECOND', '');
  expect(() => samplerFrom()).toThrow(TypeError);
});

test('a thread does not make one of its own', async () => {
  vi.stubEnv('ZEROTIME_TRACES_PER_SECOND', '50');
  const crew = await Crew.start<SamplerUse, SamplerUsed>('sampler-user', 1);
  const [used] = await crew.run({ spans: 1 });
  expect(used?.error).toBe(
    'TypeError: this thread has no sampler: call samplerFrom in the thread that starts it, or pass its handle',
  );
});
