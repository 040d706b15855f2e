import { setEnvironmentData } from 'node:worker_threads';
import { createNoopMeter } from '@opentelemetry/api';
import { AggregationTemporality, DataPointType, InstrumentType } from '@opentelemetry/sdk-metrics';
import { afterEach, expect, test, vi } from 'vitest';
import { LeakyBucket, Region, Semaphore, SlidingLog, TokenBucket } from '../../../src/index.ts';
import { SERIES } from '../../../src/integrations/metrics/series.ts';
import { LimiterMetrics } from '../../../src/integrations/opentelemetry/metrics.ts';
import {
  ConsistentRateLimitingSampler,
  samplerFrom,
} from '../../../src/integrations/opentelemetry.ts';
import { KeyedTokenBucket } from '../../../src/keyed.ts';
import { throttled } from '../../../src/throttle.ts';
import { Crew } from '../../support/crew.ts';
import type { SamplerUse, SamplerUsed } from '../../workers/sampler-user.ts';
import { scene } from './collected-metrics.ts';
import { decide, HIGHEST, LOWEST } from './spans.ts';

test('shows the counters and the state of a bucket', async () => {
  const { metrics, valuesOf, clock } = scene();
  const bucket = TokenBucket.create({ rate: 100, burst: 10, clock, stats: true });
  metrics.add('orders', bucket);
  bucket.tryConsume(7);
  bucket.tryConsume(7);
  expect(await valuesOf('orders')).toEqual({
    'limiter.calls': 2,
    'limiter.token.admitted': 7,
    'limiter.call.refused': 1,
    'limiter.failed_exchanges': 0,
    'limiter.rate': 100,
    'limiter.burst': 10,
    'limiter.token.available': 3,
    'limiter.token.debt': 0,
    'limiter.caller.waiting': 0,
    'limiter.damaged': 0,
  });
  bucket.acquire(8);
  bucket.reconfigure({ rate: 50 });
  const waiting = bucket.wait();
  expect(await valuesOf('orders')).toMatchObject({
    'limiter.calls': 4,
    'limiter.rate': 50,
    'limiter.token.available': 0,
    'limiter.token.debt': 6,
    'limiter.caller.waiting': 1,
  });
  clock.advance(1000);
  await waiting;
});

test('describes each instrument as it is: its kind, its unit, its help', async () => {
  const { metrics, collect, clock } = scene();
  metrics.add('orders', TokenBucket.create({ rate: 1, burst: 1, clock, stats: true }));
  const found = await collect();
  const described = (name: string) => {
    const metric = found.find(({ descriptor }) => descriptor.name === `zerotime.${name}`);
    if (metric === undefined) throw new Error(`no metric ${name}`);
    const { type, unit, description } = metric.descriptor as typeof metric.descriptor & {
      readonly type: InstrumentType;
    };
    const isMonotonic = metric.dataPointType === DataPointType.SUM && metric.isMonotonic;
    return { type, unit, description, isMonotonic };
  };
  expect(described('limiter.calls')).toEqual({
    type: InstrumentType.OBSERVABLE_COUNTER,
    unit: '{call}',
    description: 'Calls that asked for tokens or permits.',
    isMonotonic: true,
  });
  expect(described('limiter.token.available')).toMatchObject({
    type: InstrumentType.OBSERVABLE_UP_DOWN_COUNTER,
    unit: '{token}',
    isMonotonic: false,
  });
  expect(described('limiter.rate')).toMatchObject({
    type: InstrumentType.OBSERVABLE_GAUGE,
    unit: '{token}/s',
  });
  expect(found[0]).toMatchObject({ aggregationTemporality: AggregationTemporality.CUMULATIVE });
});

test("follows OpenTelemetry's naming conventions", () => {
  const names = SERIES.map(({ instrument }) => instrument);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, instrument, unit, kind, help } of SERIES) {
    expect(instrument).toMatch(/^(limiter|sampler)(\.[a-z]+(_[a-z]+)*)+$/);
    expect(instrument).not.toMatch(/total|second/); // counters get the one, units say the other
    expect(unit).toMatch(/^(1|s|\{[a-z]+\}(\/s)?)$/);
    expect(name.endsWith('_total')).toBe(kind === 'counter');
    expect(help).toMatch(/^[A-Z].*\.$/);
  }
});

test('shows permits, tables of keys, windows and leaky buckets', async () => {
  const { metrics, valuesOf, clock } = scene();
  const permits = Semaphore.create({ permits: 3, clock, stats: true });
  const perUser = KeyedTokenBucket.create({ rate: 1, burst: 2, capacity: 100, clock });
  metrics.add('permits', permits);
  metrics.add('users', perUser);
  metrics.add('leaky', LeakyBucket.create({ rate: 2, clock, stats: true }));
  metrics.add('log', SlidingLog.create({ limit: 4, intervalMs: 1000, clock, stats: true }));
  permits.tryAcquire(2);
  expect(permits.tryAcquire(2)).toBeUndefined();
  perUser.tryConsume('ann');
  expect(await valuesOf('permits')).toEqual({
    'limiter.calls': 2,
    'limiter.token.admitted': 2,
    'limiter.call.refused': 1,
    'limiter.failed_exchanges': 0,
    'limiter.permit.limit': 3,
    'limiter.permit.usage': 2,
    'limiter.caller.waiting': 0,
    'limiter.damaged': 0,
  });
  const queued = permits.acquire(3, { timeoutMs: 1000 }).catch(({ code }) => code);
  expect(await valuesOf('permits')).toMatchObject({ 'limiter.caller.waiting': 1 });
  expect(await valuesOf('users')).toMatchObject({ 'limiter.entry.count': 1, 'limiter.rate': 1 });
  expect(await valuesOf('leaky')).toMatchObject({ 'limiter.rate': 2 });
  expect(await valuesOf('log')).toMatchObject({ 'limiter.burst': 4 });
  clock.advance(1000);
  expect(await queued).toBe('ERR_RATE_LIMIT_TIMEOUT');
});

test('shows the calls of a throttled function and how long the oldest has waited', async () => {
  const { metrics, valuesOf, clock } = scene();
  const limiter = TokenBucket.create({ rate: 1, burst: 1, clock });
  const half = throttled(
    (n: number) => {
      if (n % 2 === 1) throw new Error('odd');
      return n / 2;
    },
    { limiter, maxQueue: 1 },
  );
  metrics.add('half', half);
  expect(await half(2)).toBe(1);
  const next = half(3).catch(({ message }) => message);
  await expect(half(4)).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
  clock.advance(500);
  expect(await valuesOf('half')).toEqual({
    'limiter.call.refused': 1,
    'limiter.call.completed': 1,
    'limiter.call.failed': 0,
    'limiter.call.timed_out': 0,
    'limiter.call.aborted': 0,
    'limiter.caller.waiting': 1,
    'limiter.longest_wait': 0.5,
    'limiter.call.running': 0,
    'limiter.damaged': 0,
  });
  clock.advance(500);
  expect(await next).toBe('odd');
  expect(await valuesOf('half')).toMatchObject({
    'limiter.call.failed': 1,
    'limiter.longest_wait': 0,
  });
});

test('exports a limiter whose memory is damaged, and all others', async () => {
  const { metrics, valuesOf, clock } = scene();
  const limits = { rate: 100, burst: 10, clock, stats: true };
  const regions = [Region.create(), Region.create()] as const;
  const bucket = TokenBucket.create({ ...limits, region: regions[0] });
  const sampler = ConsistentRateLimitingSampler.create({ rate: 9, clock, region: regions[1] });
  metrics.add('bucket', bucket);
  metrics.add('sampler', sampler);
  metrics.add('sound', TokenBucket.create(limits));
  for (const [region, { offset }] of [
    [regions[0], bucket.handle],
    [regions[1], sampler.handle.bucket],
  ] as const) {
    region.i32.fill(-1, offset / 4, offset / 4 + 128);
  }
  expect(await valuesOf('bucket')).toEqual({ 'limiter.damaged': 1 });
  expect(await valuesOf('sampler')).toEqual({ 'limiter.damaged': 1 });
  expect(await valuesOf('sound')).toMatchObject({ 'limiter.calls': 0, 'limiter.damaged': 0 });
});

test('leaves out an unlimited rate, which OTLP in JSON cannot write', async () => {
  const { metrics, valuesOf, clock } = scene();
  metrics.add('off', TokenBucket.create({ rate: Infinity, burst: 1, clock, stats: true }));
  const values = await valuesOf('off');
  expect(values).toMatchObject({ 'limiter.burst': 1, 'limiter.token.debt': 0 });
  expect(values).not.toHaveProperty(['limiter.rate']);
  expect(values).not.toHaveProperty(['limiter.token.available']);
});

test('shows the limiters of a region, and none any more once they are removed', async () => {
  // The reader of the other temporality repeats the last values of series that are no longer observed.
  const { metrics, collect, valuesOf, clock } = scene(AggregationTemporality.DELTA);
  const counted = () => TokenBucket.create({ rate: 1, burst: 1, clock, stats: true });
  const limiters = [{ name: 'first', limiter: counted() }];
  metrics.addRegion({ limiters: () => limiters });
  limiters.push({ name: 'second', limiter: counted() });
  expect(await valuesOf('second')).toMatchObject({ 'limiter.calls': 0 });
  expect(metrics.remove('second')).toBe(true);
  expect(metrics.remove('second')).toBe(false);
  expect(await valuesOf('second')).toEqual({});
  expect(await valuesOf('first')).toMatchObject({ 'limiter.calls': 0 });
  metrics.unregister();
  expect(await collect()).toEqual([]);
});

test('reads each limiter once for all metrics of a collection', async () => {
  const { metrics, collect, clock } = scene();
  const perUser = KeyedTokenBucket.create({ rate: 1, burst: 2, capacity: 100, clock });
  metrics.add('users', perUser);
  const stats = vi.spyOn(perUser, 'stats');
  await collect();
  expect(stats).toHaveBeenCalledTimes(1);
});

test('names the invalid argument', () => {
  const meter = createNoopMeter();
  const metrics = new LimiterMetrics({ meter });
  const uncounted = TokenBucket.create({ rate: 1, burst: 1 });
  expect(() => metrics.add('one', uncounted)).toThrow(
    expect.objectContaining({ code: 'ERR_STATS_DISABLED' }),
  );
  // @ts-expect-error wrong on purpose
  expect(() => metrics.add('two', {})).toThrow('limiter must have a method stats, got an object');
  expect(() => metrics.addRegion({} as never)).toThrow('region must have a method limiters');
  // @ts-expect-error wrong on purpose
  expect(() => new LimiterMetrics({ meter: {} })).toThrow(
    new TypeError('meter must be a Meter of @opentelemetry/api, got an object'),
  );
  // @ts-expect-error wrong on purpose
  expect(() => new LimiterMetrics({ meter, prefix: 'a' })).toThrow(/prefix/);
});

afterEach(() => setEnvironmentData('zerotime.sampler.1', undefined));

test('shows the rate of arrivals, the probability and the refused spans of a sampler', async () => {
  const { metrics, valuesOf, clock } = scene();
  const sampler = ConsistentRateLimitingSampler.create({ rate: 10, burst: 2, clock });
  metrics.add('traces', sampler);
  for (let n = 0; n < 5; n++) decide(sampler, HIGHEST);
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
  for (let n = 0; n < 100; n++) decide(sampler, LOWEST);
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
