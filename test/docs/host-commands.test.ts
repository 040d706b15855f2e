import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { expect, test } from 'vitest';
import type { HostRegion } from '../../src/host.ts';
import { KeyedTokenBucket, ManualClock, Semaphore, TokenBucket } from '../../src/index.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { ask, hostRegion, startProcesses } from '../support/host.ts';

const STEP = /^```sh\n((?:npx zerotime host|kill) .*)\n```\n(?:\n```printout\n([\s\S]*?)^```$)?/gm;

/** The commands of a page in order, each with what it prints. */
function stepsOf(page: string) {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  return [...text.matchAll(STEP)].map(([, command = '', printed]) => ({ command, printed }));
}

/** Splits a command like a shell; the examples only use single quotes. */
function words(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare = '']) => quoted ?? bare);
}

/** Output without what differs between runs: times, pids, users, usage and the widths of columns. */
function comparable(text: string): string {
  return text
    .trim()
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replaceAll(/pid \d+/g, 'pid PID')
    .replaceAll(/^ {2}\d+ +open for .*? {2}/gm, '  PID  open for TIME  ')
    .replaceAll(/ {2,}/g, '  ');
}

/** A service with its region, as the pages assume it. Its clock stands still. */
function service(region: HostRegion) {
  const clock = ManualClock.open(region, 'clock');
  const limit = { rate: 10, burst: 100, stats: true, clock };
  const api = TokenBucket.open(region, 'api', limit);
  const permits = Semaphore.open(region, 'permits', { permits: 3 });
  const perUser = KeyedTokenBucket.open(region, 'per user', { ...limit, capacity: 100 });
  return { api, permits, perUser };
}

/** Runs a command on the region as if it were `my-service`. */
async function run(command: string, { path }: HostRegion): Promise<string> {
  const args = words(command.replace('npx zerotime ', '')).map((word) =>
    word === 'my-service' ? path : word,
  );
  const { stdout, stderr } = await runCli(args);
  const lines = `${stdout}${stderr}`.replaceAll(path, '/dev/shm/my-service').split('\n');
  // Other regions may exist.
  const own = args[1] === 'ls' ? lines.filter((line) => line.includes('my-service')) : lines;
  return comparable(own.join('\n')).replaceAll(`  ${userInfo().username}  pid`, '  ann  pid');
}

test('docs/host.md shows what its commands print', async () => {
  const region = hostRegion();
  service(region);
  const steps = stepsOf('host.md');
  expect(steps).toHaveLength(3);
  for (const { command, printed = '' } of steps) {
    expect(`${command}\n${await run(command, region)}`).toBe(`${command}\n${comparable(printed)}`);
  }
});

test('docs/runbook.md shows what its commands print', async () => {
  const region = hostRegion();
  const { api, permits, perUser } = service(region);
  for (let call = 0; call < 140; call++) api.tryConsume();
  for (let call = 0; call < 60; call++) perUser.tryConsume('ann');
  const [hanging] = await startProcesses('host-user', 1);
  if (hanging === undefined) throw new Error('no process');
  await ask(hanging, { hold: region.path, permits: 3 });
  const waiting = [permits.acquire(), permits.acquire()];
  const steps = stepsOf('runbook.md');
  expect(steps).toHaveLength(14);
  for (const { command, printed = '' } of steps) {
    if (command.startsWith('kill')) {
      await Promise.all(waiting);
      hanging.kill('SIGKILL');
      while (region.recovered().processes === 0) await new Promise(setImmediate);
    } else {
      expect(`${command}\n${await run(command, region)}`).toBe(
        `${command}\n${comparable(printed)}`,
      );
    }
  }
});
