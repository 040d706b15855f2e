import { userInfo } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ChangeLog } from '../../src/host/change-log.ts';
import { FileLocks, OPERATING } from '../../src/host/file-locks.ts';
import { loadLibc } from '../../src/host/native.ts';
import { operate, setting } from '../../src/host/operations.ts';
import { EXISTING, openFile } from '../../src/host/region-file.ts';
import { HostRegion } from '../../src/host.ts';
import {
  FixedWindow,
  KeyedFixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  LeakyBucket,
  LimitSet,
  Semaphore,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  TokenBucket,
} from '../../src/index.ts';
import { timers } from '../../src/memory/runtime.ts';
import { host, inRegion, type Make, regionWith, termsIn } from './support/operated.ts';

const LIMIT = { rate: 10, burst: 100 };
const LIMITS = [LIMIT, { rate: 1, burst: 50 }];
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

test('reset fills what is limited of buckets that are unlimited', async () => {
  const unlimited = { rate: Number.POSITIVE_INFINITY, burst: Number.POSITIVE_INFINITY };
  const options = { limits: [unlimited, { rate: 1e-6, burst: 50 }] };
  const path = regionWith((region) => {
    TokenBucket.open(region, 'api', unlimited);
    LimitSet.open(region, 'set', options).charge(60);
  });
  expect(await host('reset', path, 'api')).toMatchObject({ code: 0 });
  expect((await host('reset', path, 'set')).stdout).toBe(
    'set (limit-set)\n  tokens  -10 -> full\n',
  );
  inRegion(path, (region) => expect(LimitSet.open(region, 'set', options).available()).toBe(50));
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

test('a key that finds no entry is not blocked, and the log says that it failed', async () => {
  const options = { rate: 1e-6, burst: 5, capacity: 1, whenFull: 'refuse' } as const;
  const path = regionWith((region) => {
    const table = KeyedTokenBucket.open(region, 'keyed', options);
    for (let key = 0; key < 50; key++) table.tryConsume(key);
  });
  const { code, stderr } = await host('block', path, 'keyed', 'ann', '10m');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'error: the key "ann" of "keyed" finds no entry in the table, or is not limited\n',
  });
  expect((await host('log', path)).stdout).toMatch(/block ann {2}tokens 0 -> 0.* {2}failed\n$/);
});

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

test('what is unlimited is paused too, and unlimited again when it is resumed', async () => {
  const unlimited = { rate: Number.POSITIVE_INFINITY, burst: Number.POSITIVE_INFINITY };
  const path = regionWith((region) => {
    TokenBucket.open(region, 'api', unlimited);
    LimitSet.open(region, 'set', { limits: [unlimited, LIMIT] });
  });
  const before = termsIn(path);
  const bucket = await host('pause', path, 'api');
  expect(bucket.stdout).toBe(
    'api (token-bucket)\n  rate   Infinity -> 0\n  burst  Infinity -> 1\n',
  );
  expect(await host('pause', path, 'set')).toMatchObject({ code: 0, stderr: '' });
  expect(termsIn(path)).toMatchObject({
    api: { rate: 0 },
    set: { limits: [{ rate: 0 }, { rate: 0 }] },
  });
  await host('resume', path, 'api');
  await host('resume', path, 'set');
  expect(termsIn(path)).toEqual(before);
});

test('a pause that is not on record cannot be resumed, nor a table paused', async () => {
  const path = regionWith((region) => {
    TokenBucket.open(region, 'api', { rate: 0, burst: 5 });
    KeyedTokenBucket.open(region, 'keyed', { ...LIMIT, capacity: 10 });
    Sometimes.open(region, 'some', { every: 2 });
    Semaphore.open(region, 'adaptive', { permits: { max: 9 }, adapt: 'vegas' });
  });
  const message = 'error: no pause in the log accounts for "api"; set rate instead\n';
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
  const adaptive = await host('pause', path, 'adaptive');
  expect(adaptive.stderr).toBe(
    'error: "adaptive" is a semaphore, which cannot pause; set a low limit instead\n',
  );
  const some = await host('pause', path, 'some');
  expect(some.stderr).toBe('error: "some" is a sometimes, whose options never change\n');
});

test('a set of which one limit was raised since its pause is not resumed', async () => {
  const path = regionWith((region) => LimitSet.open(region, 'set', { limits: LIMITS }));
  await host('pause', path, 'set');
  await host('set', path, 'set', 'limits[0].rate=5');
  expect(await host('resume', path, 'set')).toMatchObject({
    code: 1,
    stderr: 'error: no pause in the log accounts for "set"; set limits[1].rate instead\n',
  });
});

test('each limit of a set gets back the rate that its own last pause replaced', async () => {
  const options = { limits: [...LIMITS, { rate: 0, burst: 5 }] };
  const path = regionWith((region) => LimitSet.open(region, 'set', options));
  await host('pause', path, 'set');
  await host('set', path, 'set', 'limits[1].rate=7');
  await host('pause', path, 'set');
  // Other changes fill the log, but both pauses stay in it.
  inRegion(path, (region) => {
    const options = { user: 'ann', isDry: false, isRecorded: true };
    for (let burst = 1; burst <= 101; burst++) {
      operate(
        region,
        'set',
        setting(() => ({ limits: [{ burst }, {}, {}] })),
        options,
      );
    }
  });
  expect((await host('resume', path, 'set')).stdout).toBe(
    'set (limit-set)\n  limits[0].rate  0 -> 10\n  limits[1].rate  0 -> 7\n',
  );
  // Now the program pauses one of the limits.
  await host('pause', path, 'set');
  await host('set', path, 'set', 'limits[1].rate=9');
  inRegion(path, (region) =>
    LimitSet.open(region, 'set', { ...options, onMismatch: 'keep' }).reconfigure({
      limits: [{}, { rate: 0 }, {}],
    }),
  );
  const { code, stderr } = await host('resume', path, 'set');
  expect([code, stderr]).toEqual([
    1,
    'error: no pause in the log accounts for "set"; ' +
      'set limits[0].rate, limits[1].rate, limits[2].rate instead\n',
  ]);
});

test('a pause before a change that is too long for the log is outdated', async () => {
  const limits = Array.from({ length: 8 }, (_, i) => ({
    rate: i + 1.123456789,
    burst: i + 1000.5,
  }));
  const path = regionWith((region) => LimitSet.open(region, 'set', { limits }));
  await host('pause', path, 'set');
  const long = limits.flatMap((_, i) => [
    `limits[${i}].rate=${i + 7_777_777.1234567}`,
    `limits[${i}].burst=${i + 6_666_666}`,
  ]);
  expect(await host('set', path, 'set', ...long)).toMatchObject({ code: 0 });
  expect((await host('log', path)).stdout).toContain('…');
  inRegion(path, (region) =>
    LimitSet.open(region, 'set', { limits, onMismatch: 'keep' }).reconfigure({
      limits: limits.map(() => ({ rate: 0 })),
    }),
  );
  const { code, stderr } = await host('resume', path, 'set');
  expect([code, stderr]).toEqual([1, expect.stringContaining('no pause in the log accounts for')]);
  await host('set', path, 'set', ...limits.map((_, i) => `limits[${i}].rate=${i + 5}`));
  await host('pause', path, 'set');
  expect(await host('resume', path, 'set')).toMatchObject({ code: 0 });
  expect(termsIn(path)['set']).toMatchObject({ limits: limits.map((_, i) => ({ rate: i + 5 })) });
});

test('log says who changed what when, and escapes control characters', async () => {
  const name = 'api\n\u202e';
  const path = regionWith((region) => {
    TokenBucket.open(region, name, LIMIT);
    KeyedTokenBucket.open(region, 'keyed', { ...LIMIT, capacity: 10 });
  });
  const before = Date.now();
  await host('set', path, name, 'rate=50', 'burst=10');
  await host('block', path, 'keyed', 'a\x1b[1m\nb', '1s');
  const region = HostRegion.open({ path });
  onTestFinished(() => region.close());
  const [set, block] = ChangeLog.find(region)?.changes() ?? [];
  expect(set).toMatchObject({ number: 1, user: userInfo().username, pid: process.pid });
  expect(set?.begunMs).toBeGreaterThanOrEqual(before);
  expect(set?.endedMs).toBeGreaterThanOrEqual(set?.begunMs ?? Infinity);
  expect(block?.begunMs).toBeLessThanOrEqual(Date.now());
  const time = (ms = 0) => new Date(ms).toISOString().replace('T', ' ');
  const who = `${userInfo().username}  pid ${process.pid}`;
  expect((await host('log', path)).stdout.split('\n')).toEqual([
    `${path}: 2 changes`,
    expect.stringMatching(
      new RegExp(
        `^  1  ${time(set?.begunMs)}  ${who}  api\\\\x0a\\\\u202e  set +rate 10 -> 50, burst 100 -> 10$`,
      ),
    ),
    `  2  ${time(block?.begunMs)}  ${who}  keyed          block a\\x1b[1m\\x0ab  tokens 100 -> 0, blockedMs 1000`,
    '',
  ]);
});

test('a region without room changes only without a record', async () => {
  const path = regionWith((region) => TokenBucket.open(region, 'api', LIMIT), 32_768);
  inRegion(path, (region) => {
    for (let i = 0; region.bytesFree > 51_000; i++) TokenBucket.open(region, `${i}`, LIMIT);
  });
  const { code, stderr } = await host('set', path, 'api', 'rate=50');
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^error: the region has \d+ bytes free, and the change log needs 51712: use --no-record /,
  );
  expect(await host('set', path, 'api', 'rate=50', '--no-record')).toMatchObject({ code: 0 });
  expect((await host('log', path)).stdout).toBe(`${path}: 0 changes\n`);
});

test('a change waits for another operator, and fails if that one stands still', async () => {
  const path = regionWith((region) => TokenBucket.open(region, 'api', LIMIT));
  await host('set', path, 'api', 'rate=20');
  inRegion(path, (region) => {
    const change = { action: 'set', user: 'ann', pid: 7, cell: 0, from: {}, to: {} } as const;
    ChangeLog.findOrCreate(region).begin(change, new Set());
  });
  const file = openFile(path, EXISTING);
  const locks = new FileLocks(loadLibc(), file);
  expect(locks.take(OPERATING)).toBe(true);
  const shown = async () => (await host('log', path)).stdout.trim().split(/ {2,}/).at(-1);
  expect(await shown()).toBe('in progress');
  let nowMs = 0;
  const time = vi.spyOn(timers, 'nowMs').mockImplementation(() => (nowMs += 4000));
  const { code, stderr } = await host('set', path, 'api', 'rate=50');
  time.mockRestore();
  expect(code).toBe(1);
  expect(stderr).toBe(`error: ${path} is being changed by a process that stands still\n`);
  expect(await host('set', path, 'api', 'rate=50', '--dry-run')).toMatchObject({ code: 0 });
  file.close();
  expect(await shown()).toBe('interrupted');
  expect(await host('set', path, 'api', 'rate=50')).toMatchObject({ code: 0 });
});
