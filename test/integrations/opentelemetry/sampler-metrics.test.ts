import { setEnvironmentData } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';
import {
  ConsistentRateLimitingSampler,
  samplerFrom,
} from '../../../src/integrations/opentelemetry.ts';
import { Crew } from '../../support/crew.ts';
import type { SamplerUse, SamplerUsed } from '../../workers/sampler-user.ts';
import { scene } from './collected-metrics.ts';
import { decide } from './spans.ts';

afterEach(() => setEnvironmentData('zerotime.sampler.1', undefined));

test('shows the rate of arrivals, the probability and the refused spans of a sampler', async () => {
  const { metrics, valuesOf, clock } = scene();
  const sampler = ConsistentRateLimitingSampler.create({ rate: 10, burst: 2, clock });
  metrics.add('traces', sampler);
  const highest = `${'1'.repeat(18)}${'f'.repeat(14)}`;
  for (let n = 0; n < 5; n++) decide(sampler, highest); // reaches every threshold
  const { arrivalsPerSecond, probability, refused } = sampler.stats();
  expect(refused).toBe(3);
  expect(await valuesOf('traces')).toEqual({
    'sampler.span.refused': 3,
    'sampler.span.kept_by_minimum': 0,
    'sampler.arrival_rate': arrivalsPerSecond,
    'sampler.probability': probability,
    'limiter.damaged': 0,
  });
});

test('shows the spans that minima of operations kept', async () => {
  const { metrics, valuesOf, clock } = scene();
  const sampler = ConsistentRateLimitingSampler.create({ rate: 1, burst: 50, minimum: 1, clock });
  metrics.add('traces', sampler);
  const lowest = `${'1'.repeat(18)}${'0'.repeat(14)}`;
  for (let n = 0; n < 100; n++) decide(sampler, lowest); // reaches no threshold but that of all
  const { keptByMinimum } = sampler.stats();
  expect(keptByMinimum).toBeGreaterThan(0);
  expect(await valuesOf('traces')).toMatchObject({ 'sampler.span.kept_by_minimum': keptByMinimum });
});

test('shows the spans of all threads', async () => {
  const { metrics, valuesOf, clock } = scene();
  const sampler = samplerFrom(ConsistentRateLimitingSampler.create({ rate: 7, clock }).handle);
  metrics.add('traces', sampler);
  const crew = await Crew.start<SamplerUse, SamplerUsed>('sampler-user', 2);
  const used = await crew.run({ spans: 100 });
  expect(used.reduce((sum, { kept }) => sum + kept, 0)).toBe(10);
  expect(await valuesOf('traces')).toMatchObject({ 'sampler.span.refused': 190 });
});
