import { register as globalRegistry, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { HandleError, Semaphore, TokenBucket } from '../../src/index.ts';
import { SERIES } from '../../src/integrations/metrics/series.ts';
import { LimiterMetrics } from '../../src/integrations/prometheus.ts';
import { scene, scraped } from './scrape.ts';

it('uses the global registry and its own prefix by default, and unregisters everything', async () => {
  const metrics = new LimiterMetrics();
  const others = new LimiterMetrics({ prefix: 'shop_' });
  expect(() => new LimiterMetrics()).toThrow('already has a metric zerotime_calls_total');
  const names = globalRegistry.getMetricsAsArray().map(({ name }) => name);
  expect(names).toHaveLength(2 * SERIES.length);
  expect(names).toEqual(expect.arrayContaining(['zerotime_calls_total', 'shop_entries']));
  metrics.unregister();
  others.unregister();
  expect(globalRegistry.getMetricsAsArray()).toEqual([]);
});

it('names the invalid argument before anything is exported', async () => {
  const { register, metrics, clock } = scene();
  const bucket = TokenBucket.create({ rate: 1, burst: 1, clock, stats: true });
  metrics.add('one', bucket);
  const uncounted = TokenBucket.create({ rate: 1, burst: 1, clock });
  expect(() => metrics.add('two', uncounted)).toThrow(
    expect.objectContaining({ code: 'ERR_STATS_DISABLED' }),
  );
  expect(() => metrics.add('one', bucket)).toThrow(
    new RangeError('name must not be in use, got "one"'),
  );
  // @ts-expect-error wrong on purpose
  expect(() => metrics.add(2, bucket)).toThrow(new TypeError('name must be a string, got 2'));
  // @ts-expect-error wrong on purpose
  expect(() => metrics.add('three', {})).toThrow(
    new TypeError('limiter must have a method stats, got an object'),
  );
  expect(() => new LimiterMetrics({ register: new Registry(), prefix: 'a b' })).toThrow();
  const calls = (await scraped(register)).filter((line) => line.includes('calls_total'));
  expect(calls.every((line) => line.includes('limiter="one"'))).toBe(true);
});

it('exports the limiters of a region that keep counts, also later ones', async () => {
  const { register, metrics, clock } = scene();
  const counted = (limit: number) => ({
    limiter: TokenBucket.create({ rate: 1, burst: limit, clock, stats: true }),
  });
  const plain = { name: 'plain', limiter: TokenBucket.create({ rate: 1, burst: 1 }) };
  const permits = { name: 'permits', limiter: Semaphore.create({ permits: 1, stats: true }) };
  const limiters = [{ name: 'first', ...counted(5) }, plain, permits];
  metrics.addRegion({ limiters: () => limiters });
  limiters.push({ name: 'second', ...counted(7) });
  const bursts = (await scraped(register)).filter((line) => line.includes('burst_tokens'));
  expect(bursts).toEqual([
    'zerotime_burst_tokens{limiter="first"} 5',
    'zerotime_burst_tokens{limiter="second"} 7',
  ]);
  expect(metrics.remove('second')).toBe(true);
  expect(await scraped(register)).not.toContain('zerotime_burst_tokens{limiter="second"} 7');
  expect(() => metrics.addRegion({} as never)).toThrow(/region must have a method limiters/);
});

it('a region that fails later does not hide the other limiters', async () => {
  const { register, metrics } = scene();
  let error: Error | undefined;
  const counted = (burst: number) => TokenBucket.create({ rate: 1, burst, stats: true });
  metrics.addRegion({
    limiters: () => {
      if (error !== undefined) throw error;
      return [{ name: 'known', limiter: counted(5) }];
    },
  });
  metrics.add('other', counted(7));
  const damaged = new HandleError('ERR_REGION_INVALID', 'a name in the region makes no sense');
  for (error of [damaged, new Error('mine')]) {
    const bursts = (await scraped(register)).filter((line) => line.includes('burst_tokens'));
    expect(bursts).toEqual([
      'zerotime_burst_tokens{limiter="known"} 5',
      'zerotime_burst_tokens{limiter="other"} 7',
    ]);
  }
});
