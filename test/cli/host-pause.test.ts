import { expect, test } from 'vitest';
import {
  FixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  LeakyBucket,
  LimitSet,
  Semaphore,
  SlidingLog,
  SlidingWindow,
  TokenBucket,
} from '../../src/index.ts';
import { host, inRegion, type Make, regionWith, termsIn } from './support/operated.ts';

const LIMIT = { rate: 10, burst: 100 };
const LIMITS = [LIMIT, { rate: 1, burst: 50 }];
const WINDOW = { limit: 10, intervalMs: 1000 };

test.each<[name: string, make: Make, paused: string, from: string]>([
  ['token-bucket', (region) => TokenBucket.open(region, 'api', LIMIT), 'rate', '10'],
  ['leaky-bucket', (region) => LeakyBucket.open(region, 'api', { rate: 10 }), 'rate', '10'],
  ['fixed-window', (region) => FixedWindow.open(region, 'api', WINDOW), 'limit', '10'],
  ['sliding-window', (region) => SlidingWindow.open(region, 'api', WINDOW), 'limit', '10'],
  ['sliding-log', (region) => SlidingLog.open(region, 'api', WINDOW), 'limit', '10'],
  ['semaphore', (region) => Semaphore.open(region, 'api', { permits: 3 }), 'permits', '3'],
])('a %s is paused, and resumed with the limit of before', async (kind, make, field, value) => {
  const path = regionWith(make);
  const head = `api (${kind})`;
  expect((await host('resume', path, 'api')).stdout).toBe(`${head}: nothing to change\n`);
  const pause = await host('pause', path, 'api');
  expect(pause.stdout).toBe(`${head}\n  ${field}  ${value} -> 0\n`);
  expect((await host('pause', path, 'api')).stdout).toBe(`${head}: nothing to change\n`);
  const resume = await host('resume', path, 'api');
  expect(resume.stdout).toBe(`${head}\n  ${field}  0 -> ${value}\n`);
});

test('each limit of a set gets back its own rate, and a quantum its interval', async () => {
  const quantum = { quantum: 5, fillIntervalMs: 1000, burst: 50 };
  const path = regionWith((region) => {
    LimitSet.open(region, 'set', { limits: [...LIMITS, { rate: 0, burst: 5 }] });
    KeyedLimitSet.open(region, 'keyed', { limits: LIMITS, capacity: 10 });
    TokenBucket.open(region, 'quantum', quantum);
  });
  for (const name of ['set', 'keyed', 'quantum']) {
    expect(await host('pause', path, name)).toMatchObject({ code: 0 });
    expect(await host('resume', path, name)).toMatchObject({ code: 0 });
  }
  expect(termsIn(path)).toMatchObject({
    set: { limits: [...LIMITS, { rate: 0, burst: 5 }] },
    keyed: { limits: LIMITS },
    quantum,
  });
});

test('a burst that was changed during a pause stays, and a pause by set counts', async () => {
  const path = regionWith((region) => TokenBucket.open(region, 'api', LIMIT));
  await host('set', path, 'api', 'rate=0', 'burst=7');
  await host('set', path, 'api', 'burst=8');
  await host('resume', path, 'api');
  inRegion(path, (region) => TokenBucket.open(region, 'api', { rate: 10, burst: 8 }));
});

test('a pause that is not on record cannot be resumed, nor a table paused', async () => {
  const path = regionWith((region) => {
    TokenBucket.open(region, 'api', { rate: 0, burst: 5 });
    KeyedTokenBucket.open(region, 'keyed', { ...LIMIT, capacity: 10 });
  });
  const message = 'error: no change in the log has paused "api"; set its limit instead\n';
  expect(await host('resume', path, 'api')).toEqual({ code: 1, stdout: '', stderr: message });
  await host('set', path, 'api', 'rate=5');
  await host('set', path, 'api', 'rate=0');
  await host('resume', path, 'api');
  // The program pauses it now, after the change that resumed it.
  inRegion(path, (region) =>
    TokenBucket.open(region, 'api', { rate: 5, burst: 5 }).reconfigure({ rate: 0 }),
  );
  expect(await host('resume', path, 'api')).toMatchObject({ code: 1, stderr: message });
  const { stderr } = await host('pause', path, 'keyed');
  expect(stderr).toBe(
    'error: "keyed" is a keyed-token-bucket, which cannot pause; set a low limit instead\n',
  );
});
