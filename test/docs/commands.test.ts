import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import type { HostRegion } from '../../src/host.ts';
import { KeyedTokenBucket, ManualClock, Semaphore, TokenBucket } from '../../src/index.ts';
import { Cli, runCli } from '../cli/support/run-cli.ts';
import { runInProcess } from '../cli/support/run-in-process.ts';
import { ask, hostRegion, startProcess } from '../support/host.ts';
import { until } from '../support/settled.ts';

const STEP =
  /^```sh\n((?:npx zerotime host|kill|curl) .*)\n```\n(?:\n```printout\n([\s\S]*?)^```$)?/gm;

/** The commands of a page in order, each with what it prints. */
function stepsOf(page: string) {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  return [...text.matchAll(STEP)].map(([, command = '', printed]) => ({ command, printed }));
}

/** Splits a command like a shell; the examples only use single quotes. */
function words(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare = '']) => quoted ?? bare);
}

/** Output without what differs between runs: times, pids, hashes, users, usage and the widths of columns. */
function comparable(text: string): string {
  return text
    .trim()
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replaceAll(/pid \d+/g, 'pid PID')
    .replaceAll(/ [\da-f]{11} /g, ' HASH ')
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

/** The address of the server that the last `host serve` started, on a free port. */
let served = '';
let end = async (): Promise<unknown> => undefined;

/** Starts a server, and returns what it prints once it listens. */
async function serve(command: string, { path }: HostRegion): Promise<string> {
  const args = words(command.replace('npx zerotime ', '').replace('my-service', path));
  const cli = new Cli([...args, '--port', '0']);
  end = () => {
    cli.child.kill();
    return cli.finished();
  };
  onTestFinished(async () => void (await end()));
  let printed = '';
  for await (const chunk of cli.child.stdout ?? []) {
    printed += chunk;
    if (/^Serving /m.test(printed)) break;
  }
  [served = ''] = /http:\/\/[\d.:]+/.exec(printed) ?? [];
  return comparable(printed.replaceAll(served, ADDRESS).replaceAll(path, '/dev/shm/my-service'));
}

const ADDRESS = 'http://127.0.0.1:9464';
const CURL = /^curl -s (\S+) \| grep (\S+)$/;

/** What `curl -s URL | grep WORD` prints. Ends the server: later steps do not expect its process. */
async function curl(command: string, { path }: HostRegion): Promise<string> {
  const [, url = '', word = ''] = CURL.exec(command) ?? [];
  const text = await (await fetch(url.replace(ADDRESS, served))).text();
  await end();
  const lines = text.split('\n').filter((line) => line.includes(word));
  return comparable(lines.join('\n').replaceAll(path, '/dev/shm/my-service'));
}

/** What a command of a page prints. */
function printedBy(command: string, region: HostRegion): Promise<string> {
  if (command.startsWith('curl')) return curl(command, region);
  return command.includes(' host serve ') ? serve(command, region) : run(command, region);
}

test('docs/host.md shows what its commands print', async () => {
  const region = hostRegion();
  service(region);
  const steps = stepsOf('host.md');
  expect(steps).toHaveLength(5);
  for (const { command, printed = '' } of steps) {
    expect(`${command}\n${await printedBy(command, region)}`).toBe(
      `${command}\n${comparable(printed)}`,
    );
  }
});

test('docs/runbook.md shows what its commands print', async () => {
  const region = hostRegion();
  const { api, permits, perUser } = service(region);
  for (let call = 0; call < 140; call++) api.tryConsume();
  for (let call = 0; call < 60; call++) perUser.tryConsume('ann');
  const hanging = await startProcess('host-user');
  await ask(hanging, { hold: region.path, permits: 3 });
  const waiting = [permits.acquire(), permits.acquire()];
  const steps = stepsOf('runbook.md');
  expect(steps).toHaveLength(18);
  for (const { command, printed = '' } of steps) {
    if (command.startsWith('kill')) {
      await Promise.all(waiting);
      hanging.kill('SIGKILL');
      await until(() => region.recovered().processes > 0);
    } else {
      expect(`${command}\n${await printedBy(command, region)}`).toBe(
        `${command}\n${comparable(printed)}`,
      );
    }
  }
});

const PAGES = ['simulate', 'how-many-at-once'].map((page) =>
  readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8'),
);
const EXAMPLE = /^```sh\nnpx zerotime (simulate .*)\n```\n\n```printout\n([\s\S]*?)^```$/gm;

const examples = PAGES.flatMap((page) => [...page.matchAll(EXAMPLE)]).map(
  ([, command = '', printed = '']) => ({
    command,
    printed,
  }),
);

test('the pages have examples', () => {
  expect(examples.length).toBe(4);
});

test.each(examples)('$command prints what its page shows', async ({ command, printed }) => {
  const { code, stdout } = await runInProcess(words(command));
  expect(code).toBe(0);
  expect(stdout.trim()).toBe(printed.trim());
});
