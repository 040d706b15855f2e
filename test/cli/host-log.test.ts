import { userInfo } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ChangeLog } from '../../src/host/change-log.ts';
import { FileLocks, OPERATING } from '../../src/host/file-locks.ts';
import { loadLibc } from '../../src/host/native.ts';
import { EXISTING, openFile } from '../../src/host/region-file.ts';
import { HostRegion } from '../../src/host.ts';
import { KeyedTokenBucket, TokenBucket } from '../../src/index.ts';
import { timers } from '../../src/memory/runtime.ts';
import { host, inRegion, regionWith } from './support/operated.ts';

const LIMIT = { rate: 10, burst: 100 };

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
