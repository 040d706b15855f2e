import { expect, test } from 'vitest';
import {
  KeyedFixedWindow,
  KeyedTokenBucket,
  LimitSet,
  SlidingLog,
  TokenBucket,
} from '../../src/index.ts';
import { host, inRegion, regionWith } from './support/operated.ts';

const LIMIT = { rate: 10, burst: 100 };
const WINDOW = { limit: 10, intervalMs: 1000 };

test('block refuses a key, of any type, and reset ends that', async () => {
  const options = { ...LIMIT, capacity: 10 };
  const path = regionWith((region) => {
    KeyedTokenBucket.open(region, 'keyed', options).tryConsume('ann', 30);
    KeyedFixedWindow.open(region, 'window', { ...WINDOW, capacity: 10 });
  });
  const block = await host('block', path, 'keyed', 'ann', '10m');
  expect(block.stdout).toMatch(
    /^keyed \(keyed-token-bucket\)\n {2}tokens {5}7\d(\.\d+)? -> 0\n {2}blockedMs {2}600000\n$/,
  );
  await host('block', path, 'keyed', '42', '1h', '--key-type', 'number');
  await host('block', path, 'window', '42', '1h', '--key-type', 'bigint');
  inRegion(path, (region) => {
    const keyed = KeyedTokenBucket.open(region, 'keyed', options);
    const window = KeyedFixedWindow.open(region, 'window', { ...WINDOW, capacity: 10 });
    expect(['ann', 42, '42'].map((key) => keyed.tryConsume(key))).toEqual([false, false, true]);
    expect([42n, '43'].map((key) => window.tryConsume(key))).toEqual([false, true]);
  });
  const wrong = await host('block', path, 'keyed', 'c', '1s', '--key-type', 'bigint');
  expect(wrong).toMatchObject({ code: 1, stderr: 'error: key must be a bigint, got "c"\n' });
  const reset = await host('reset', path, 'keyed', 'ann');
  expect(reset.stdout).toBe('keyed (keyed-token-bucket)\n  tokens  0 -> full\n');
  inRegion(path, (region) => {
    expect(KeyedTokenBucket.open(region, 'keyed', options).available('ann')).toBe(100);
  });
  expect((await host('log', path)).stdout).toMatch(
    / {2}keyed {3}block ann {2}tokens \S+ -> 0, blockedMs 600000\n/,
  );
});

test('reset fills a bucket without keys, and ends its debt', async () => {
  const slow = { rate: 1e-6, burst: 100 };
  const path = regionWith((region) => {
    TokenBucket.open(region, 'api', slow).charge(130);
    LimitSet.open(region, 'set', { limits: [slow, { rate: 1e-6, burst: 50 }] }).charge(50);
    SlidingLog.open(region, 'log', WINDOW);
    KeyedTokenBucket.open(region, 'keyed', { ...LIMIT, capacity: 10 });
  });
  expect((await host('reset', path, 'api')).stdout).toBe(
    'api (token-bucket)\n  tokens  -30 -> full\n',
  );
  await host('reset', path, 'set');
  inRegion(path, (region) => {
    expect(TokenBucket.open(region, 'api', slow).available()).toBe(100);
    const set = LimitSet.open(region, 'set', { limits: [slow, { ...slow, burst: 50 }] });
    expect(set.decide(0).limits?.map(({ remaining }) => remaining)).toEqual([100, 50]);
  });
  const errors = [
    await host('reset', path, 'log'),
    await host('reset', path, 'keyed'),
    await host('reset', path, 'api', 'ann'),
    await host('block', path, 'api', 'ann', '1s'),
  ].map(({ stderr }) => stderr);
  expect(errors).toEqual([
    'error: "log" is a sliding-log, which cannot be reset; only buckets and keys can\n',
    'error: "keyed" is a keyed-token-bucket, of which you reset one key at a time\n',
    'error: "api" is a token-bucket, which has no keys\n',
    'error: "api" is a token-bucket, which has no keys\n',
  ]);
});

test('a key that finds no place is not blocked, and the log says that it failed', async () => {
  const options = { rate: 1e-6, burst: 5, capacity: 1, whenFull: 'refuse' } as const;
  const path = regionWith((region) => {
    const table = KeyedTokenBucket.open(region, 'keyed', options);
    for (let key = 0; key < 50; key++) table.tryConsume(key);
  });
  const { code, stderr } = await host('block', path, 'keyed', 'ann', '10m');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'error: the key "ann" of "keyed" finds no place in the table, or is not limited\n',
  });
  expect((await host('log', path)).stdout).toMatch(/block ann {2}tokens 0 -> 0.* {2}failed\n$/);
});
