import { existsSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { HandleError } from '../../src/errors.ts';
import { HostRegion } from '../../src/host.ts';
import {
  FixedWindow,
  KeyedTokenBucket,
  ManualClock,
  Semaphore,
  Sometimes,
  TokenBucket,
} from '../../src/index.ts';
import { FleetBucket } from '../../src/integrations/redis.ts';
import { RECORD, recordOffset } from '../../src/memory/layout/cell.ts';
import { FLEET_CELL, FLEET_MEMBER, FLEET_MEMBER_BYTES } from '../../src/memory/layout/fleet.ts';
import { PROCESS, PROCESS_BYTES, REGION } from '../../src/memory/layout.ts';
import { folderOfTest } from '../support/folders.ts';
import { ask, hostPath, hostRegion, opened, startProcess } from '../support/host.ts';
import { plant } from '../support/plant.ts';
import { until } from '../support/settled.ts';
import { parseExposition } from './support/exposition.ts';
import { host } from './support/operated.ts';
import { errorOf } from './support/run-in-process.ts';
import { Served } from './support/served.ts';

/** Writes an entry into a region as the process of it does; none has its lock. */
function enter(region: HostRegion, entry: number, pid: number, openMs: number): void {
  const at = (region.i32[REGION.processes] ?? 0) + entry * PROCESS_BYTES;
  const [own] = region.processes();
  const ownUs =
    region.f64[((region.i32[REGION.processes] ?? 0) + PROCESS_BYTES + PROCESS.openedUs) >> 3];
  region.f64[(at + PROCESS.openedUs) >> 3] = (ownUs ?? 0) + 1000 * ((own?.openMs ?? 0) - openMs);
  region.i32[(at + PROCESS.pid) >> 2] = pid;
}

test('a name, or the path of a file, forges no line', async () => {
  const where = folderOfTest();
  const region = HostRegion.open({ path: `${where}/a\nb`, bytes: 65_536 });
  onTestFinished(() => region.close());
  const name = 'api\n\nProcesses (0)\u202e\u2028';
  TokenBucket.open(region, name, { rate: 1, burst: 5 });
  const shown = await host('show', region.path);
  const lines = shown.stdout.split('\n');
  expect(lines[0]).toContain(`${where}/a\\x0ab: `);
  expect(lines.slice(1, 6)).toEqual([
    '',
    'Limiters (1)',
    expect.stringMatching(/^ {2}api\\x0a\\x0aProcesses \(0\)\\u202e\\u2028 {2}TokenBucket \{/),
    '',
    'Processes (0)',
  ]);
  const { stdout } = await host('ls', where);
  expect(stdout).toMatch(/^\S+\/a\\x0ab {2}65,536 bytes[^\n]+\n$/);
});

test('show lists each limiter with its counts, and the other processes', async () => {
  const region = hostRegion();
  const counted = { stats: true, rate: 1e-6 };
  const bucket = TokenBucket.open(region, 'counted', { ...counted, burst: 100 });
  for (let i = 0; i < 1100; i++) bucket.tryConsume();
  TokenBucket.open(region, 'not counted', { rate: 1, burst: 5 });
  KeyedTokenBucket.open(region, 'keyed', { ...counted, burst: 5, capacity: 10 }).tryConsume('a');
  KeyedTokenBucket.open(region, 'keyed, not counted', { rate: 1, burst: 5, capacity: 10 });
  FixedWindow.open(region, 'window', { limit: 10, intervalMs: 1000, stats: true }).tryConsume();
  Semaphore.open(region, 'permits', { permits: 3, stats: true }).tryAcquire(2);
  const range = { permits: { min: 2, max: 50 }, adapt: 'gradient' } as const;
  Semaphore.open(region, 'adaptive', range).tryAcquire()?.release({ outcome: 'dropped' });
  Sometimes.open(region, 'sometimes', { every: 10 });
  ManualClock.open(region, 'clock');
  enter(region, 7, 4_000_001, 90_000);
  const { stdout, code } = await host('show', region.path);
  expect(code).toBe(0);
  const [head, , limiters, ...lines] = stdout
    .split('\n')
    .map((line) => line.replace(/ {2,}/g, '|'));
  expect(head).toMatch(/: 1,048,576 bytes, \d+ % used$/);
  expect(limiters).toBe('Limiters (8)');
  const counts = (name: string) =>
    lines
      .find((line) => line.startsWith(`|${name}|`))
      ?.split('|')
      .slice(3);
  expect(counts('counted')).toEqual(['1,100 calls, 1,000 refused']);
  expect(counts('not counted')).toEqual([]);
  expect(counts('keyed')).toEqual(['1 call, 0 refused']);
  expect(counts('keyed, not counted')).toEqual([]);
  expect(counts('window')).toEqual(['1 call, 0 refused']);
  expect(counts('permits')).toEqual(['0 waiting']);
  const found = '0 waiting, 2 to 50, latency 0 ms, least 0 ms, 1 dropped';
  expect(counts('adaptive')).toEqual([found]);
  expect(counts('sometimes')).toEqual([]);
  const ended = expect.stringMatching(/^\|4000001\|open for 9\d s\|ended$/);
  expect(lines.slice(-3)).toEqual(['Processes (1)', ended, '']);
});

test('one damaged limiter hides no other from show, ls and set', async () => {
  const where = folderOfTest();
  const region = hostRegion({ path: `${where}/api` });
  const clock = ManualClock.open(region, 'clock');
  const bad = TokenBucket.open(region, 'bad', { rate: 1, burst: 5 }).handle.offset;
  const permits = Semaphore.open(region, 'bad permits', { permits: 3 }).handle.offset;
  TokenBucket.open(region, 'good', { rate: 1, burst: 5, clock });
  region.f64[(recordOffset(bad, 0) + RECORD.pace) >> 3] = Number.NaN;
  region.i32.fill(7, (permits + 24) >> 2, (permits + 56) >> 2);
  const { stdout, code } = await host('show', region.path);
  expect(code).toBe(0);
  expect(stdout.split('\n').slice(2, 6)).toEqual([
    'Limiters (3)',
    "  bad          limiter { unreadable: the limiter's configuration is invalid }",
    "  bad permits  limiter { unreadable: the semaphore's configuration is invalid }",
    '  good         TokenBucket { rate: 1, burst: 5, tokens: 5 }',
  ]);
  expect((await host('ls', where)).stdout).toMatch(
    new RegExp(`^${region.path} .* 3 limiters, 0 processes$`, 'm'),
  );
  expect(await host('set', region.path, 'good', 'rate=2')).toMatchObject({ code: 0 });
  expect(await host('set', region.path, 'bad', 'rate=2')).toMatchObject({
    code: 1,
    stderr: "error: the limiter's configuration is invalid\n",
  });
});

test('a limiter that was damaged before the region was opened only says so', async () => {
  const region = hostRegion();
  const { offset } = TokenBucket.open(region, 'api', { rate: 10, burst: 100 }).handle;
  TokenBucket.open(region, 'other', { rate: 10, burst: 100 });
  region.f64[(recordOffset(offset, 0) + RECORD.pace) >> 3] = Number.NaN;
  const served = await Served.start([region.path]);
  const families = parseExposition((await served.ask('/metrics')).body);
  const samples = (name: string) =>
    families
      .get(`zerotime_${name}`)
      ?.samples.map(({ labels, value }) => [labels['limiter'], value]);
  expect(samples('region_up')).toEqual([[undefined, 1]]);
  expect(samples('damaged')).toEqual([
    ['api', 1],
    ['other', 0],
  ]);
  const [{ limiters } = { limiters: [] }] = (await served.state()).regions;
  expect(limiters.map(({ limit }) => limit)).toEqual([
    "the limiter's configuration is invalid",
    'rate 10, burst 100',
  ]);
});

test('a region is served under the path that was given, although links lead to it', async () => {
  const region = hostRegion();
  const folder = `${folderOfTest()}/link`;
  symlinkSync(dirname(region.path), folder);
  const path = `${folder}/${basename(region.path)}`;
  const served = await Served.start([path]);
  const [view] = (await served.state()).regions;
  expect([view?.path, view?.limiters.length]).toEqual([path, 0]);
});

test('show says what came back from processes that ended, and lists the stocks of fleets', async () => {
  const region = hostRegion();
  const source = { consumeOrDrain: async (n: number) => n, returnTokens: async () => undefined };
  const options = { source, stock: 100, minStock: 10, maxAgeMs: Number.POSITIVE_INFINITY };
  const fleet = await FleetBucket.open(region, 'hot', options);
  // A process that held nothing.
  enter(region, 7, 4_000_001, 90_000);
  await until(() => region.recovered().processes >= 1);
  expect(region.recovered()).toEqual({ processes: 1, permits: 0, tokens: 0 });
  const holder = await startProcess('host-user');
  await ask(holder, { hold: region.path, permits: 3 });
  // As if it waited for tokens of the fleet too.
  const [, other] = region.processes();
  expect(other?.isOwn).toBe(false);
  const member = (fleet.handle.offset ?? 0) + FLEET_CELL.members + 2 * FLEET_MEMBER_BYTES;
  region.f64[(member + FLEET_MEMBER.waiting) >> 3] = 1;
  holder.kill('SIGKILL');
  await until(() => region.recovered().processes >= 2);
  expect(region.recovered()).toEqual({ processes: 2, permits: 3, tokens: 1 });
  const { stdout } = await host('show', region.path);
  await fleet.close();
  expect(stdout).toMatch(/ {2}hot +FleetBucket \{ stock: 100, tokens: \d+, bought: 10 \}\n/);
  expect(stdout).toMatch(
    /Processes \(0\)\n\nRecovered so far: 2 processes, 3 permits, 1 awaited token of fleets\n$/,
  );
});

test('show, on a region that this process has not open, leaves it', async () => {
  const region = hostRegion();
  region.close();
  const { stdout } = await host('show', region.path);
  expect(stdout).toContain('Limiters (0)\n\nProcesses (0)\n');
  const again = HostRegion.open({ path: region.path });
  onTestFinished(() => again.close());
  expect(again.processes()).toHaveLength(1);
});

test('show prints the error, and exits with 1', async () => {
  const path = hostPath();
  const message = `error: ${path} does not exist\n`;
  expect(await host('show', path)).toEqual({ code: 1, stdout: '', stderr: message });
  const { stderr } = await host('show', hostRegion().path, '--owner', '12345');
  expect(stderr).toMatch(/^error: \S+ belongs to user \d+, not 12345: /);
});

test('show --watch repeats until it fails, from the top left corner of a terminal', async () => {
  const region = hostRegion();
  plant(process.stdout, 'isTTY', true);
  let shown = 0;
  vi.spyOn(HostRegion.prototype, 'limiters').mockImplementation(() => {
    if (++shown > 2) throw 'the end';
    return [];
  });
  const { stdout, stderr, code } = await host('show', region.path, '--watch', '1ms');
  expect(stdout.split('\x1b[H\x1b[J')).toHaveLength(4);
  expect(stdout.match(/Limiters \(0\)/g)).toHaveLength(2);
  expect([stderr, code]).toEqual(['error: the end\n', 1]);
});

test('ls lists regions, passes over other files, and says which region cannot be opened', async () => {
  const where = folderOfTest();
  const empty = HostRegion.open({ path: `${where}/empty`, bytes: 65_536 });
  const used = HostRegion.open({ path: `${where}/used`, bytes: 131_072 });
  onTestFinished(() => used.close());
  empty.close();
  TokenBucket.open(used, 'api', { rate: 1, burst: 5 });
  enter(used, 7, 4_000_001, 0);
  writeFileSync(`${where}/diary`, 'of somebody else');
  writeFileSync(`${where}/unfinished`, '');
  mkdirSync(`${where}/folder`);
  symlinkSync(`${where}/used`, `${where}/link`);
  HostRegion.open({ path: `${where}/cut`, bytes: 131_072 }).close();
  truncateSync(`${where}/cut`, 65_536);
  const damaged = HostRegion.open({ path: `${where}/damaged` });
  damaged.close();
  damaged.i32[REGION.names] = 1;
  const { stdout, code } = await host('ls', where);
  expect([code, opened(`${where}/damaged`)]).toEqual([0, 0]);
  expect(stdout.split('\n').sort()).toEqual([
    '',
    `${where}/cut was cut: it has 65536 of 131072 bytes`,
    `${where}/damaged: the names in the region are invalid`,
    expect.stringMatching(/\/empty {2}65,536 bytes, \d+ % used, 0 limiters, 0 processes$/),
    expect.stringMatching(/\/used {2}131,072 bytes, \d+ % used, 1 limiter, 0 processes$/),
  ]);
});

test('ls says that a folder has no regions', async () => {
  const where = folderOfTest();
  writeFileSync(`${where}/diary`, 'of somebody else');
  expect(await host('ls', where)).toEqual({ stdout: `${where}: 0 regions\n`, stderr: '', code: 0 });
});

test('ls says once that this machine cannot map files', async () => {
  const where = folderOfTest();
  for (const name of ['a', 'b']) HostRegion.open({ path: `${where}/${name}` }).close();
  vi.spyOn(HostRegion, 'find').mockImplementation(() => {
    throw new HandleError('ERR_HOST_UNSUPPORTED', 'zerotime/host needs 64-bit Linux');
  });
  const { stdout, stderr, code } = await host('ls', where);
  expect([stdout, stderr, code]).toEqual(['', 'error: zerotime/host needs 64-bit Linux\n', 1]);
});

test('rm removes a region that is not in use, or any by force', async () => {
  const [idle, used] = [hostRegion(), hostRegion()];
  idle.close();
  const { stderr } = await host('rm', idle.path, '--owner', '12345');
  expect(stderr).toMatch(/^error: \S+ belongs to user \d+, not 12345: /);
  expect(await host('rm', idle.path)).toEqual({ stdout: '', stderr: '', code: 0 });
  expect(existsSync(idle.path)).toBe(false);
  expect((await host('rm', used.path)).stderr).toContain(`is open in process ${process.pid}: `);
  expect(existsSync(used.path)).toBe(true);
  expect(await host('rm', '--force', used.path)).toMatchObject({ code: 0 });
  expect(existsSync(used.path)).toBe(false);
});

test.each([
  [['ls', '/no/such/folder'], 'error: /no/such/folder cannot be listed: ENOENT'],
  [['show'], 'missing required argument'],
  [['show', 'a', '--watch', '0'], 'It must be a duration from 1ms to 24h'],
  [['show', 'a', '--owner', 'me'], 'It must be the ID of a user, a whole number, such as 1000.'],
  [['rm', 'a', '--\x1b[1m'], "unknown option '--\\x1b[1m'"],
  [['set', 'a', 'b'], "missing required argument 'changes'"],
  [['set', 'a', 'b', 'rate'], 'It must be a field and its value, such as rate=50'],
  [['set', 'a', 'b', '=5'], 'It must be a field and its value, such as rate=50'],
  [['block', 'a', 'b', 'c', 'soon'], 'It must be a duration from 1ms to 24h'],
  [['reset', 'a', 'b', 'c', '--key-type', 'date'], 'Allowed choices are string, number, bigint'],
])('host %j is an error', async (args, message) => {
  const stderr = await errorOf(['host', ...args]);
  expect(stderr).toContain(message);
  if (args[0] !== 'ls') expect(stderr).toContain(`(zerotime host ${args[0]} --help shows all`);
});
