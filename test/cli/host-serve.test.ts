import { spawnSync } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { expect, test, vi } from 'vitest';
import { addresses } from '../../src/cli/host/serve/command.ts';
import { REGION_SERIES } from '../../src/cli/host/serve/exposition.ts';
import { History } from '../../src/cli/host/serve/history.ts';
import type { ChangeRequest } from '../../src/cli/host/serve/view.ts';
import { WatchedRegion } from '../../src/cli/host/serve/watched.ts';
import { ChangeLog } from '../../src/host/change-log.ts';
import { HostRegion } from '../../src/host.ts';
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
import { hostPath, hostRegion, opened } from '../support/host.ts';
import { parseExposition } from './support/exposition.ts';
import { host } from './support/operated.ts';
import { Served, TOKEN } from './support/served.ts';

const LIMIT = { rate: 10, burst: 100 };

/** A served region with a bucket and a table. */
async function started(token?: string) {
  const region = hostRegion();
  const api = TokenBucket.open(region, 'api', LIMIT);
  const keyed = KeyedTokenBucket.open(region, 'keyed', { ...LIMIT, capacity: 10 });
  const served = await Served.start([region.path], token);
  const set = { path: region.path, name: 'api', action: 'set', changes: 'rate=50' } as const;
  const request: ChangeRequest = { ...set, isDry: false };
  const log = () => ChangeLog.find(region)?.changes() ?? [];
  return { region, api, keyed, served, request, log };
}

test.each([
  ['localhost', '127.0.0.1', false],
  ['127.0.1.1', '127.0.1.1', false],
  ['::1', '::1', false],
  ['::ffff:127.0.0.1', '::ffff:127.0.0.1', false],
  ['localhost.example', '192.0.2.1', true],
  ['0.0.0.0', '0.0.0.0', true],
  ['::', '::', true],
  ['', '::', true],
])('--host %j, which is %s, is open to others: %s', (host, address, isOpen) => {
  const family = address.includes(':') ? 'IPv6' : 'IPv4';
  const lines = addresses({ address, family, port: 80 }, host, undefined);
  expect(lines.includes('Anyone who reaches this address can read it.')).toBe(isOpen);
});

test('without --allow-changes, nothing changes a limit', async () => {
  const { api, served, request, log } = await started();
  expect(await served.change(request)).toMatchObject({ status: 403 });
  expect(await served.change({ ...request, isDry: true })).toMatchObject({ status: 403 });
  expect((await served.state()).allowsChanges).toBe(false);
  expect([api.rate, log()]).toEqual([10, []]);
});

test('only the page of this server, with the token of this run, changes a limit', async () => {
  const { api, served, request, log } = await started(TOKEN);
  const refused: [number, Parameters<Served['change']>[1]][] = [
    [403, { origin: undefined }],
    [403, { origin: 'null' }],
    [403, { origin: 'http://evil.example' }],
    [403, { origin: `http://127.0.0.1:${served.port + 1}` }],
    [403, { origin: `http://localhost:${served.port}` }],
    [415, { 'content-type': undefined }],
    [415, { 'content-type': 'text/plain' }],
    [415, { 'content-type': 'application/x-www-form-urlencoded' }],
    [401, { authorization: undefined }],
    [401, { authorization: 'Bearer other' }],
    [401, { authorization: TOKEN }],
    // DNS rebinding: the name of another site leads here.
    [403, { host: 'evil.example', origin: 'http://evil.example' }],
    [403, { host: `127.0.0.1.evil.example:${served.port}` }],
  ];
  for (const [status, headers] of refused) {
    expect(await served.change(request, headers), JSON.stringify(headers)).toMatchObject({
      status,
    });
  }
  for (const method of ['GET', 'PUT', 'OPTIONS']) {
    const answer = await served.change(request, {}, method);
    expect(answer).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  }
  expect([api.rate, log()]).toEqual([10, []]);
  expect(await served.change(request)).toMatchObject({ status: 200 });
  expect(api.rate).toBe(50);
});

test('a request that is too long or incomplete changes nothing', async () => {
  const { api, served, request } = await started(TOKEN);
  const bodies: [number, string][] = [
    [400, ''],
    [400, 'null'],
    [400, '{"path":'],
    [400, JSON.stringify({ ...request, isDry: 'no' })],
    [400, JSON.stringify({ ...request, name: undefined })],
    [400, JSON.stringify({ ...request, changes: { rate: 5 } })],
    [404, JSON.stringify({ ...request, path: '/dev/shm/other' })],
    [413, JSON.stringify({ ...request, changes: 'rate=5 '.repeat(3000) })],
  ];
  for (const [status, body] of bodies) expect(await served.change(body)).toMatchObject({ status });
  const errors = await Promise.all(
    [
      { changes: 'rate=fast' },
      { changes: '' },
      { changes: 'rate' },
      { name: 'none' },
      { action: 'remove' } as never,
      { name: 'keyed', action: 'block', key: '42', keyType: 'date', time: '10m' } as const,
    ].map(async (part) => JSON.parse((await served.change({ ...request, ...part })).body)),
  );
  expect(errors).toEqual([
    { error: expect.stringMatching(/^rate must be a number .*, got "fast"$/) },
    { error: 'changes must be such as rate=50 burst=10' },
    { error: expect.stringContaining('such as rate=50') },
    { error: expect.stringContaining('has no limiter "none"') },
    { error: 'action must be set, pause, resume, block or reset' },
    { error: 'keyType must be string, number, bigint, got "date"' },
  ]);
  expect(api.rate).toBe(10);
});

test('changes are those of the commands, and on record with the address they came from', async () => {
  const { region, api, keyed, served, request, log } = await started(TOKEN);
  const made = async (part: Partial<ChangeRequest>) =>
    JSON.parse((await served.change({ ...request, ...part })).body).differences;
  expect(await made({ isDry: true })).toEqual([['rate', '10 -> 50']]);
  expect([api.rate, log()]).toEqual([10, []]);
  expect(await made({ changes: ' rate=50  burst=200 ' })).toEqual([
    ['rate', '10 -> 50'],
    ['burst', '100 -> 200'],
  ]);
  expect(await made({ action: 'pause' })).toEqual([['rate', '50 -> 0']]);
  expect(await made({ action: 'pause' })).toEqual([]);
  expect(await made({ action: 'resume' })).toEqual([['rate', '0 -> 50']]);
  const key = { name: 'keyed', key: '42', keyType: 'number' };
  await made({ ...key, action: 'block', time: '10m' });
  expect([keyed.tryConsume(42), keyed.tryConsume('42')]).toEqual([false, true]);
  await made({ ...key, action: 'reset' });
  expect(keyed.tryConsume(42)).toBe(true);
  await made({ action: 'reset' });
  expect(log().map(({ action, key, stage }) => [action, key, stage])).toEqual([
    ['set', undefined, 'done'],
    ['pause', undefined, 'done'],
    ['resume', undefined, 'done'],
    ['block', '42', 'done'],
    ['reset', '42', 'done'],
    ['reset', undefined, 'done'],
  ]);
  for (const { user, pid } of log()) {
    expect([user, pid]).toEqual([expect.stringMatching(/ via 127\.0\.0\.1$/), process.pid]);
  }
  const [view] = (await served.state()).regions;
  expect(view?.changes.map(({ number }) => number)).toEqual([6, 5, 4, 3, 2, 1]);
  expect(view?.path).toBe(region.path);
});

test('changes attach to a limiter once, since each time takes a stripe of its counters', async () => {
  const { served, request } = await started(TOKEN);
  const attach = vi.spyOn(TokenBucket, 'attach');
  for (const rate of [1, 2, 3]) {
    await served.change({ ...request, changes: `rate=${rate}`, isDry: true });
    await served.change({ ...request, changes: `rate=${rate}` });
  }
  expect(attach).toHaveBeenCalledTimes(1);
});

test('only names of this machine are answered, also for reading', async () => {
  const { served } = await started();
  const names = ['localhost', hostname(), '127.0.0.1', '[::1]', '10.1.2.3', 'metrics.example'];
  for (const name of names) {
    const { status } = await served.ask('/state', { headers: { host: `${name}:9464` } });
    expect([name, status]).toEqual([name, 200]);
  }
  for (const path of ['/', '/state', '/metrics', '/change']) {
    const answer = await served.ask(path, { headers: { host: 'evil.example' } });
    expect(answer.status).toBe(403);
    expect(answer.body).not.toContain('dev/shm');
  }
});

test('the page loads nothing from elsewhere, and no other site may read or frame it', async () => {
  const { served } = await started(TOKEN);
  for (const path of ['/', '/style.css', '/live.js', '/charts.js', '/uplot.js', '/state']) {
    const { status, headers, body } = await served.ask(path);
    expect([path, status]).toEqual([path, 200]);
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringMatching(
        /default-src 'none'.*frame-ancestors 'none'/,
      ),
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    // Another user of the machine can load all of this.
    expect(body).not.toContain(TOKEN);
  }
  expect(await served.ask('/', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
  expect(await served.ask('/', { method: 'POST' })).toMatchObject({ status: 405 });
  expect(await served.ask('/none')).toMatchObject({ status: 404 });
  expect(await served.ask('//[')).toMatchObject({ status: 400 });
});

test('a region is opened once it exists, and again if it is replaced or broken', async () => {
  const path = hostPath();
  const served = await Served.start([path]);
  const found = async () => {
    const [view] = (await served.state()).regions;
    return view?.error ?? view?.limiters.map(({ limit }) => limit);
  };
  const made = (file: string, rate: number) => {
    const region = HostRegion.open({ path: file, bytes: 65_536 });
    TokenBucket.open(region, 'api', { rate, burst: 1 });
    region.close();
  };
  expect(await found()).toBe(`${path} does not exist`);
  made(path, 5);
  expect(await found()).toEqual(['rate 5, burst 1']);
  const descriptors = opened(path);
  const other = hostPath();
  made(other, 6);
  renameSync(other, path);
  expect(await found()).toEqual(['rate 6, burst 1']);
  rmSync(path);
  writeFileSync(path, 'something else');
  expect(await found()).toBe(`${path} holds no zerotime region`);
  rmSync(path);
  expect(await found()).toBe(`${path} does not exist`);
  made(path, 7);
  expect(await found()).toEqual(['rate 7, burst 1']);
  // It keeps nothing of the files before.
  expect(opened(path)).toBe(descriptors);
});

// docs/host.md: "Keyed tables are scanned; the pauses grow so that reading takes"
test('reading takes at most a twentieth of the time, however long and often it is asked for', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  let readingMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => Date.now() + readingMs);
  const region = new WatchedRegion(hostPath(), undefined);
  const read = vi.spyOn(region, 'read');
  const history = new History([region]);
  for (const takesMs of [1, 400]) {
    readingMs = 0;
    const fromMs = Date.now();
    read.mockImplementation(() => {
      readingMs += takesMs;
      return { view: { path: region.path }, limiters: [] } as never;
    });
    history.start();
    for (let ms = 0; ms < 60_000; ms += 100) {
      vi.advanceTimersByTime(100);
      history.regions();
    }
    history.stop();
    expect(read.mock.calls.length).toBeGreaterThan(5);
    // The pause after the last one is not over.
    const share = (readingMs - takesMs) / (Date.now() - fromMs + readingMs);
    expect(share).toBeLessThanOrEqual(1 / 20);
  }
});

test('charts have a sample a second, however often limits are changed', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  const { served, api, request } = await started(TOKEN);
  const { history } = served;
  // On a busy machine, a reading takes so long that the pause after it grows.
  vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  history.start();
  vi.advanceTimersByTime(400);
  for (let rate = 1; rate <= 5; rate++)
    await served.change({ ...request, changes: `rate=${rate}` });
  expect(api.rate).toBe(5);
  expect(history.regions()[0]?.view.limiters[0]?.limit).toBe('rate 5, burst 100');
  vi.advanceTimersByTime(1700);
  const atMs = history.since(0).map((sample) => sample.atMs);
  expect(atMs.map((one) => one - (atMs[0] ?? 0))).toEqual([0, 1000, 2000]);
});

test('a port that is taken, or is none, or an empty address, ends the command', async () => {
  const { region, served } = await started();
  const taken = await host('serve', region.path, '--port', `${served.port}`);
  const message = `error: --host 127.0.0.1 and --port ${served.port} must be free to listen on: `;
  expect(taken).toMatchObject({ code: 1, stdout: '' });
  expect(taken.stderr).toMatch(new RegExp(`^${message}listen EADDRINUSE`));
  const { code, stderr } = await host('serve', region.path, '--port', '70000');
  expect([code, stderr]).toEqual([1, expect.stringContaining('from 0 to 65535')]);
  // It would be all addresses.
  const open = await host('serve', region.path, '--port', '0', '--host', '');
  expect([open.code, open.stderr]).toEqual([1, expect.stringContaining('It must be an address')]);
});

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
