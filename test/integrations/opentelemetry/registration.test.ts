import { EventEmitter, once } from 'node:events';
import { setEnvironmentData } from 'node:worker_threads';
import type { Sampler } from '@opentelemetry/api';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  autoInstrumentations,
  register,
} from '../../../src/integrations/opentelemetry/registration.ts';

// test/docs/tracing-example.test.ts loads the entry point into real threads, with the real SDK.

afterEach(() => {
  vi.unstubAllEnvs();
  setEnvironmentData('zerotime.sampler.1', undefined);
});

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
  let end = () => {};
  endWith(
    new Promise((resolve) => {
      end = resolve;
    }),
  );
  traced.emit('SIGTERM');
  expect(calls).toContain('shutdown');
  expect(traced.kill).not.toHaveBeenCalled();
  end();
  await vi.waitFor(() => expect(traced.kill).toHaveBeenCalledWith(123, 'SIGTERM'));
});

test('ends the process although the last export failed', async () => {
  const { traced, endWith } = await registered();
  endWith(Promise.reject(new Error('no collector')));
  traced.emit('SIGTERM');
  await vi.waitFor(() => expect(traced.kill).toHaveBeenCalled());
});

// docs/sampling.md: "This delays the end of the process"
test('ends the process although the last export never ends', async () => {
  const { traced, endWith } = await registered(1);
  endWith(new Promise(() => {}));
  traced.emit('SIGTERM');
  await vi.waitFor(() => expect(traced.kill).toHaveBeenCalled());
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
  onTestFinished(() => void vi.restoreAllMocks());
  await expect(registered()).rejects.toThrow('register needs Node.js 20.16 or later');
});
