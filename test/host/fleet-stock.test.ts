import { expect, onTestFinished, test } from 'vitest';
import { HostStock } from '../../src/host/limiters.ts';
import type { HostRegion } from '../../src/host.ts';
import { TokenBucket } from '../../src/index.ts';
import { isMeasured } from '../../src/integrations/metrics/readings.ts';
import { FleetBucket } from '../../src/integrations/redis.ts';
import { namesIn } from '../../src/memory/names.ts';
import { hostRegion } from '../support/host.ts';

const source = { consumeOrDrain: async (n: number) => n, returnTokens: async () => undefined };

/** Opens a fleet bucket that keeps ten tokens in stock. */
async function open(region: HostRegion, name: string, stats: boolean): Promise<FleetBucket> {
  const options = { source, stock: 100, minStock: 10, maxAgeMs: Number.POSITIVE_INFINITY };
  const fleet = await FleetBucket.open(region, name, { ...options, stats });
  onTestFinished(() => fleet.close());
  return fleet;
}

test('the stock of a fleet bucket is listed among the limiters of its region', async () => {
  const region = hostRegion();
  TokenBucket.open(region, 'api', { rate: 1, burst: 5 });
  const fleet = await open(region, 'hot', true);
  const plain = await open(region, 'not counted', false);
  const [, hot, notCounted, ...others] = region.limiters();
  expect(others).toEqual([]);
  if (hot?.kind !== 'fleet-bucket' || notCounted?.kind !== 'fleet-bucket') {
    throw new Error('the stocks are not listed');
  }
  const { name, limiter } = hot;
  expect([name, limiter.limit, limiter.available(), limiter.bought]).toEqual(['hot', 100, 10, 10]);
  expect(`${limiter}`).toBe('FleetBucket { stock: 100, tokens: 10, bought: 10 }');
  expect(limiter).toBeInstanceOf(HostStock);
  expect(fleet.tryConsume(3)).toBe(true);
  expect(fleet.tryConsume(100)).toBe(false);
  expect(limiter.available()).toBe(7);
  expect(limiter.stats()).toMatchObject({ calls: 2, admitted: 3, refused: 1, waiting: 0 });
  expect(() => notCounted.limiter.stats()).toThrow(/stats: true/);
  // One object for each stock, so that it takes one stripe of counters.
  expect(region.limiters()[1]).toBe(hot);
  expect([isMeasured(limiter), isMeasured(notCounted.limiter)]).toEqual([true, false]);
  expect(plain.tryConsume()).toBe(true);
});

test('a closed region gets no name of a fleet bucket', async () => {
  const region = hostRegion();
  region.close();
  const late = FleetBucket.open(region, 'late', { source, stock: 100 });
  await expect(late).rejects.toThrow(/^the region was closed$/);
  expect([...namesIn(region)]).toEqual([]);
});
