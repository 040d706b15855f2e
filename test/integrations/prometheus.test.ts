import { register as globalRegistry, Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import { FixedWindow, HandleError, LeakyBucket, Semaphore, TokenBucket } from '../../src/index.ts';
import { SERIES } from '../../src/integrations/metrics/series.ts';
import { LimiterMetrics } from '../../src/integrations/prometheus.ts';
import { KeyedLimitSet, KeyedTokenBucket } from '../../src/keyed.ts';
import { scene, scraped } from './scrape.ts';

it('exports the counters and the state of a bucket', async () => {
  const { register, metrics, clock } = scene();
  const bucket = TokenBucket.create({ rate: 100, burst: 10, clock, stats: true });
  metrics.add('orders', bucket);
  bucket.tryConsume(7);
  bucket.tryConsume(7);
  expect(await scraped(register)).toEqual([
    'zerotime_calls_total{limiter="orders"} 2',
    'zerotime_admitted_tokens_total{limiter="orders"} 7',
    'zerotime_refused_calls_total{limiter="orders"} 1',
    'zerotime_failed_exchanges_total{limiter="orders"} 0',
    'zerotime_rate_tokens_per_second{limiter="orders"} 100',
    'zerotime_burst_tokens{limiter="orders"} 10',
    'zerotime_available_tokens{limiter="orders"} 3',
    'zerotime_debt_tokens{limiter="orders"} 0',
    'zerotime_waiting_callers{limiter="orders"} 0',
    'zerotime_damaged{limiter="orders"} 0',
  ]);
  bucket.acquire(8);
  bucket.reconfigure({ rate: 50 });
  expect(await scraped(register)).toEqual(
    expect.arrayContaining([
      'zerotime_calls_total{limiter="orders"} 3',
      'zerotime_rate_tokens_per_second{limiter="orders"} 50',
      'zerotime_available_tokens{limiter="orders"} 0',
      'zerotime_debt_tokens{limiter="orders"} 5',
    ]),
  );
  for (let i = 0; i < 3; i++) bucket.wait();
  expect(await scraped(register)).toContain('zerotime_waiting_callers{limiter="orders"} 3');
  clock.advance(1000);
});

it('exports values that only grow as counters, and the others as gauges', async () => {
  const { register } = scene();
  const text = await register.metrics();
  const types = [...text.matchAll(/^# TYPE zerotime_(\w+) (\w+)$/gm)];
  expect(types.map(([, name, type]) => `${name} ${type}`)).toEqual([
    'calls_total counter',
    'admitted_tokens_total counter',
    'refused_calls_total counter',
    'failed_exchanges_total counter',
    'reclaimed_entries_total counter',
    'shared_calls_total counter',
    'completed_calls_total counter',
    'failed_calls_total counter',
    'timed_out_calls_total counter',
    'aborted_calls_total counter',
    'dropped_calls_total counter',
    'commands_total counter',
    'unanswered_calls_total counter',
    'fleet_purchases_total counter',
    'fleet_bought_tokens_total counter',
    'fleet_returned_tokens_total counter',
    'sampler_refused_spans_total counter',
    'sampler_spans_kept_by_minimum_total counter',
    'rate_tokens_per_second gauge',
    'burst_tokens gauge',
    'available_tokens gauge',
    'debt_tokens gauge',
    'permits gauge',
    'permits_in_use gauge',
    'window_latency_seconds gauge',
    'least_latency_seconds gauge',
    'waiting_callers gauge',
    'longest_wait_seconds gauge',
    'running_calls gauge',
    'entries gauge',
    'sampler_arrivals_per_second gauge',
    'sampler_probability gauge',
    'reachable gauge',
    'damaged gauge',
  ]);
  expect(text.match(/^# HELP zerotime_\w+ [A-Z].*\.$/gm)).toHaveLength(types.length);
});

it('exports limiters of all kinds under their label, and removes them', async () => {
  const { register, metrics, clock } = scene();
  const leaky = LeakyBucket.create({ rate: 2, clock, stats: true });
  const window = FixedWindow.create({ limit: 3, intervalMs: 1000, clock, stats: true });
  metrics.add('a "quoted" name', leaky);
  metrics.add('window', window);
  leaky.tryConsume();
  window.consumeOrDrain(5);
  const lines = await scraped(register);
  expect(lines).toEqual(
    expect.arrayContaining([
      'zerotime_admitted_tokens_total{limiter="a \\"quoted\\" name"} 1',
      'zerotime_admitted_tokens_total{limiter="window"} 3',
      'zerotime_burst_tokens{limiter="window"} 3',
      'zerotime_available_tokens{limiter="window"} 0',
    ]),
  );
  // A window has neither a rate nor debt.
  expect(lines.filter((line) => /(rate|debt)_.*window/.test(line))).toEqual([]);
  expect(metrics.remove('window')).toBe(true);
  expect(metrics.remove('window')).toBe(false);
  expect((await scraped(register)).filter((line) => line.includes('window'))).toEqual([]);
  metrics.add('window', leaky); // the name is free again
  expect(await scraped(register)).toContain('zerotime_calls_total{limiter="window"} 1');
});

it('exports the readings of a semaphore that adapts', async () => {
  const { register, metrics, clock } = scene();
  const options = { permits: { max: 9, initial: 2 }, adapt: 'gradient', clock } as const;
  const semaphore = Semaphore.create({ ...options, stats: true });
  metrics.add('adaptive', semaphore);
  metrics.add('fixed', Semaphore.create({ permits: 3, clock, stats: true }));
  semaphore.tryAcquire()?.release({ outcome: 'dropped' });
  for (let call = 0; call < 100; call++) {
    const permit = semaphore.tryAcquire();
    await clock.advance(25);
    permit?.release();
  }
  const lines = await scraped(register);
  expect(lines).toEqual(
    expect.arrayContaining([
      'zerotime_dropped_calls_total{limiter="adaptive"} 1',
      'zerotime_window_latency_seconds{limiter="adaptive"} 0.025',
      `zerotime_permits{limiter="adaptive"} ${semaphore.permits}`,
    ]),
  );
  expect(lines.filter((line) => /(latency|dropped).*fixed/.test(line))).toEqual([]);
});

it('counts a table of keys once per scrape for all metrics', async () => {
  const { register, metrics, clock } = scene();
  const table = { rate: 1, burst: 2, capacity: 100, clock };
  const perUser = KeyedTokenBucket.create({ ...table, stats: true });
  const uncounted = KeyedTokenBucket.create(table);
  metrics.add('users', perUser);
  metrics.add('uncounted', uncounted);
  const stats = vi.spyOn(perUser, 'stats');
  perUser.tryConsume('ann', 2);
  perUser.tryConsume('ann');
  uncounted.tryConsume('bob');
  expect(await scraped(register)).toEqual([
    'zerotime_calls_total{limiter="users"} 2',
    'zerotime_admitted_tokens_total{limiter="users"} 2',
    'zerotime_refused_calls_total{limiter="users"} 1',
    'zerotime_failed_exchanges_total{limiter="users"} 0',
    'zerotime_reclaimed_entries_total{limiter="users"} 0',
    'zerotime_reclaimed_entries_total{limiter="uncounted"} 0',
    'zerotime_shared_calls_total{limiter="users"} 0',
    'zerotime_shared_calls_total{limiter="uncounted"} 0',
    'zerotime_rate_tokens_per_second{limiter="users"} 1',
    'zerotime_rate_tokens_per_second{limiter="uncounted"} 1',
    'zerotime_burst_tokens{limiter="users"} 2',
    'zerotime_burst_tokens{limiter="uncounted"} 2',
    'zerotime_waiting_callers{limiter="users"} 0',
    'zerotime_waiting_callers{limiter="uncounted"} 0',
    'zerotime_entries{limiter="users"} 1',
    'zerotime_entries{limiter="uncounted"} 1',
    'zerotime_damaged{limiter="users"} 0',
    'zerotime_damaged{limiter="uncounted"} 0',
  ]);
  expect(stats).toHaveBeenCalledTimes(1);
  clock.advance(2000);
  expect(await scraped(register)).toContain('zerotime_entries{limiter="users"} 0');
  expect(stats).toHaveBeenCalledTimes(2);
});

it('counts a table of keys with several limits', async () => {
  const { register, metrics, clock } = scene();
  const limits = [{ rate: 1, burst: 3 }] as const;
  const perUser = KeyedLimitSet.create({ limits, capacity: 10, stats: true, clock });
  metrics.add('users', perUser);
  perUser.consumeOrDrain('ann', 5);
  expect(await scraped(register)).toEqual(
    expect.arrayContaining([
      'zerotime_admitted_tokens_total{limiter="users"} 3',
      'zerotime_entries{limiter="users"} 1',
    ]),
  );
});

it("exports an unlimited rate in Prometheus's notation", async () => {
  const { register, metrics, clock } = scene();
  metrics.add('off', TokenBucket.create({ rate: Infinity, burst: 1, clock, stats: true }));
  expect(await scraped(register)).toEqual(
    expect.arrayContaining([
      'zerotime_rate_tokens_per_second{limiter="off"} +Inf',
      'zerotime_available_tokens{limiter="off"} +Inf',
      'zerotime_debt_tokens{limiter="off"} 0',
    ]),
  );
});

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

it('unregisters no metrics of its successor', () => {
  const register = new Registry();
  const metrics = new LimiterMetrics({ register });
  metrics.unregister();
  new LimiterMetrics({ register });
  metrics.unregister();
  expect(register.getMetricsAsArray()).toHaveLength(SERIES.length);
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
  expect(() => new LimiterMetrics({ registry: register } as object)).toThrow(
    'options has no option "registry"; did you mean register?',
  );
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

it('adding a region exports all of its limiters, whatever was removed before', async () => {
  const { register, metrics, clock } = scene();
  const counted = (burst: number) => TokenBucket.create({ rate: 1, burst, clock, stats: true });
  metrics.add('orders', counted(5));
  metrics.remove('orders');
  const region = { limiters: () => [{ name: 'orders', limiter: counted(7) }] };
  const line = 'zerotime_burst_tokens{limiter="orders"} 7';
  for (let time = 0; time < 2; time++) {
    metrics.addRegion(region);
    expect(await scraped(register)).toContain(line);
    metrics.remove('orders');
    expect(await scraped(register)).not.toContain(line);
  }
});

it('does not keep a region that cannot be read', async () => {
  const { register, metrics } = scene();
  const limiters = vi.fn(() => {
    throw new HandleError('ERR_REGION_INVALID', 'a name in the region makes no sense');
  });
  expect(() => metrics.addRegion({ limiters })).toThrow('a name in the region makes no sense');
  await scraped(register);
  expect(limiters).toHaveBeenCalledOnce();
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
