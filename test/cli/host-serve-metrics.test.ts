import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { REGION_SERIES } from '../../src/cli/host/serve/exposition.ts';
import {
  KeyedTokenBucket,
  LeakyBucket,
  ManualClock,
  Semaphore,
  SlidingLog,
  Sometimes,
  TokenBucket,
} from '../../src/index.ts';
import { SERIES } from '../../src/integrations/metrics/series.ts';
import { hostPath, hostRegion } from '../support/host.ts';
import { parseExposition } from './support/exposition.ts';
import { Served } from './support/served.ts';

const HOSTILE = 'a"b\\c\nd{}=,<script>';

/** A region with limiters of several kinds, whose counts are known. */
function regionOfMany() {
  const region = hostRegion();
  const clock = ManualClock.open(region, 'clock');
  const api = TokenBucket.open(region, 'api', { rate: 10, burst: 100, stats: true, clock });
  api.tryConsume(70);
  api.tryConsume(70);
  api.charge(50);
  const permits = Semaphore.open(region, 'permits', { permits: 3 });
  permits.tryAcquire(2);
  const keyed = { rate: 1, burst: 2, capacity: 10, clock };
  KeyedTokenBucket.open(region, 'keys', keyed).tryConsume('ann');
  SlidingLog.open(region, HOSTILE, { limit: 5, intervalMs: 1000, stats: true, clock });
  TokenBucket.open(region, 'unlimited', { rate: Number.POSITIVE_INFINITY, burst: 5, clock });
  LeakyBucket.open(region, 'leaky', { rate: 5, stats: true, clock });
  Sometimes.open(region, 'sometimes', { first: 1, clock });
  return region;
}

test('/metrics has the limiters of all processes, with or without counts', async () => {
  const region = regionOfMany();
  const missing = hostPath();
  const served = await Served.start([region.path, missing]);
  const { status, headers, body } = await served.ask('/metrics');
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  const families = parseExposition(body);
  const known = [...REGION_SERIES, ...SERIES].map(({ name }) => `zerotime_${name}`);
  expect(known).toEqual(expect.arrayContaining([...families.keys()]));
  const of = (name: string) =>
    Object.fromEntries(
      families
        .get(`zerotime_${name}`)
        ?.samples.map(({ labels, value }) => [labels['limiter'] ?? labels['region'], value]) ?? [],
    );
  expect(of('region_up')).toEqual({ [region.path]: 1, [missing]: 0 });
  expect(of('region_size_bytes')).toEqual({ [region.path]: 1_048_576 });
  // This process has the region open as the server's: nobody else has.
  expect(of('region_processes')).toEqual({ [region.path]: 0 });
  expect(of('calls_total')).toEqual({ api: 3, [HOSTILE]: 0, leaky: 0 });
  expect(of('refused_calls_total')).toMatchObject({ api: 1 });
  expect(of('debt_tokens')).toMatchObject({ api: 20, unlimited: 0 });
  expect(of('rate_tokens_per_second')).toMatchObject({
    api: 10,
    keys: 1,
    unlimited: Number.POSITIVE_INFINITY,
  });
  expect(of('entries')).toEqual({ keys: 1 });
  expect(of('permits_in_use')).toEqual({ permits: 2 });
  // Only their own threads know who waits for tokens.
  expect(of('waiting_callers')).toEqual({ permits: 0 });
  expect(families.get('zerotime_calls_total')?.samples[0]?.labels['region']).toBe(region.path);
});

const PROMTOOL = process.env['ZEROTIME_PROMTOOL'] ?? 'promtool';
const hasPromtool = spawnSync(PROMTOOL, ['--version']).status === 0;

test.runIf(hasPromtool)('promtool finds no fault with /metrics', async () => {
  const served = await Served.start([regionOfMany().path, hostPath()]);
  const { body: input } = await served.ask('/metrics');
  const { status, stdout, stderr } = spawnSync(PROMTOOL, ['check', 'metrics'], { input });
  expect(`${stdout}${stderr}`).toBe('');
  expect(status).toBe(0);
});

test('a damaged limiter only says so, and the others are exported', async () => {
  const region = hostRegion();
  const bucket = TokenBucket.open(region, 'api', { rate: 10, burst: 100, stats: true });
  TokenBucket.open(region, 'other', { rate: 10, burst: 100, stats: true });
  const served = await Served.start([region.path]);
  served.history.refresh();
  const { offset } = bucket.handle;
  region.i32.fill(-1, offset >> 2, (offset + 64) >> 2);
  served.history.refresh();
  const families = parseExposition((await served.ask('/metrics')).body);
  const damaged = families.get('zerotime_damaged')?.samples;
  expect(damaged?.map(({ labels, value }) => [labels['limiter'], value])).toEqual([
    ['api', 1],
    ['other', 0],
  ]);
  const [{ limiters } = { limiters: [] }] = (await served.state()).regions;
  expect(limiters.map(({ isDamaged, actions }) => [isDamaged, actions.length > 0])).toEqual([
    [true, false],
    [false, true],
  ]);
});
