import { setEnvironmentData } from 'node:worker_threads';
import type { Sampler } from '@opentelemetry/api';
import { afterEach, expect, test, vi } from 'vitest';
import { ManualClock, TokenBucket } from '../../../src/index.ts';
import {
  ConsistentRateLimitingSampler,
  samplerFrom,
} from '../../../src/integrations/opentelemetry.ts';
import { Crew } from '../../support/crew.ts';
import type { SamplerUse, SamplerUsed } from '../../workers/sampler-user.ts';
import { decide, isKept } from './spans.ts';

const THREADS = 4;
const HIGHEST = `${'1'.repeat(18)}${'f'.repeat(14)}`;

afterEach(() => {
  vi.unstubAllEnvs();
  setEnvironmentData('zerotime.sampler.1', undefined);
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

test('4 threads share the sampler of the thread that started them', async () => {
  const sampler = samplerFrom(create().handle);
  const crew = await Crew.start<SamplerUse, SamplerUsed>('sampler-user', THREADS);
  const used = await crew.run({ spans: 100 });
  expect(used.reduce((sum, { kept }) => sum + kept, 0)).toBe(10);
  expect(spend(sampler)).toBe(0);
});

test('a thread does not make one of its own', async () => {
  vi.stubEnv('ZEROTIME_TRACES_PER_SECOND', '50');
  const crew = await Crew.start<SamplerUse, SamplerUsed>('sampler-user', 1);
  const [used] = await crew.run({ spans: 1 });
  expect(used?.error).toBe(
    'TypeError: this thread has no sampler: call samplerFrom in the thread that starts it, or pass its handle',
  );
});
