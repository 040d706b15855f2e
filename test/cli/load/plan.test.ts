import { createServer } from 'node:http';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { threadsText } from '../../../src/cli/load/command.ts';
import { commandWithOptions, type Given } from '../../../src/cli/load/options.ts';
import { checkGiven, planOf } from '../../../src/cli/load/plan.ts';
import { CERT, KEY } from '../../support/certificate.ts';
import { folderOfFile, written } from '../../support/folders.ts';
import { expectError } from '../support/run-in-process.ts';

const folder = folderOfFile();

const file = (name: string, text: string) => written(folder, name, text);

const CERT_FILE = file('cert.pem', CERT);
const KEY_FILE = file('key.pem', KEY);
const NOT_PEM = file('text', 'a text');
const NO_KEY = file('no-key.pem', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n');
const HTTPS = 'https://localhost/';

/** The transport that these arguments ask for. */
function transport(url: string | undefined, ...args: string[]) {
  const command = commandWithOptions().exitOverride();
  command.parse(args, { from: 'user' });
  const given = command.opts<Given>();
  checkGiven(url, given, command);
  return planOf(url, given, { body: undefined, instantsUs: undefined }, command).transport;
}

describe('the options of transports', () => {
  it('are none by default', () => {
    expect(transport(undefined)).toBeUndefined();
  });

  it('reach the load', async () => {
    const args = ['--cert', CERT_FILE, '--key', KEY_FILE, '--ca', CERT_FILE];
    expect(transport(HTTPS, ...args, '--servername', 'a.example', '--http2')).toEqual({
      socketPath: undefined,
      http2: true,
      tls: { insecure: undefined, cert: CERT, key: KEY, ca: CERT, servername: 'a.example' },
    });
    expect(transport(HTTPS, '--insecure')).toMatchObject({ tls: { insecure: true } });
    expect(transport(undefined, '--http2')).toMatchObject({ http2: true });
    const path = join(folder, 'socket');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(path, resolve));
    expect(transport('http://localhost/', '--unix', path)).toMatchObject({ socketPath: path });
    await expectError(['load', '--unix', path], /--unix needs a target URL/);
    await new Promise((resolve) => server.close(resolve));
  });

  it.each([
    [['--unix', '/no/such/socket'], /Unix domain socket \(ENOENT/],
    [['--unix', NOT_PEM], /path of a Unix domain socket\.\n/],
    [['--cert', '/no/such/file'], /PEM \(ENOENT/],
    [['--method', 'CONNECT'], /error: --method must be an HTTP method other than CONNECT/],
    [['-m', 'G T'], /error: --method must be an HTTP method .*, got "G T"/],
    [
      [HTTPS, '--cert', NOT_PEM, '--key', KEY_FILE],
      /error: --cert must be text in PEM, which begins with -----BEGIN/,
    ],
    [[HTTPS, '--servername', 'two words'], /error: --servername must be the name of a host/],
    [['--insecure'], /--insecure needs an https URL; got http:/],
    [[HTTPS, '--insecure', '--ca', CERT_FILE], /--ca cannot be used with --insecure/],
    [[HTTPS, '--cert', CERT_FILE], /--cert needs --key\n/],
    [[HTTPS, '--key', KEY_FILE], /--key needs --cert\n/],
    [[HTTPS, '--cert', CERT_FILE, '--key', NO_KEY], /--cert and --key cannot be used: /],
    [
      [HTTPS, '--ca', file('no-ca.pem', '-----BEGIN CERTIFICATE-----\nAAAA')],
      /--ca cannot be used: /,
    ],
  ])('%j is an error', (args, message) =>
    expectError(['load', ...(args[0] === HTTPS ? [] : ['http://localhost:1/']), ...args], message),
  );

  it('need the url of a target', () => expectError(['load', '--insecure'], /URL; got none/));
});

/** The threads of a run, or of each of its processes. */
function threads(
  url: string | undefined,
  rate: number,
  {
    ramp,
    instantsUs,
    ...more
  }: Pick<Given, 'ramp' | 'processes' | 'threads'> & { instantsUs?: Float64Array } = {},
): number {
  const given: Given = {
    rate,
    durationMs: 1_000,
    burst: 1,
    timeoutMs: 1_000,
    warmupMs: 0,
    arrivals: instantsUs === undefined ? 'even' : { path: 'list' },
    ...more,
    ...(ramp && { ramp }),
  };
  const command = new Command().setOptionValueWithSource('burst', 1, 'default');
  return planOf(url, given, { body: undefined, instantsUs }, command).threads;
}

const SERVER = 'http://localhost/';

// docs/load.md: "By default, a URL therefore gets one thread"
it.each([
  [2_000, 1],
  [15_000, 1],
  [15_001, 2],
  [60_000, 4],
  [1_000_000, 4],
])('%d requests a second to a URL need %d threads, if there are processors', (rate, wanted) => {
  const most = Math.min(wanted, availableParallelism());
  expect(threads(SERVER, rate)).toBe(most);
  expect(threads(SERVER, rate, { ramp: { from: 100, to: rate, overMs: 1_000 } })).toBe(most);
  expect(threads(SERVER, 2_000, { ramp: { from: rate, to: 100, overMs: 1_000 } })).toBe(most);
  const instantsUs = Float64Array.from({ length: rate }, (_, at) => (at * 1e6) / rate);
  expect(threads(SERVER, 2_000, { instantsUs })).toBe(most);
});

it('the embedded server and modules get four threads', () => {
  expect(threads(undefined, 1)).toBe(4);
  expect(threads('file:///task.mjs', 1)).toBe(4);
});

// docs/load.md: "Without --threads, the processes divide"
it.each([2, 3, 4, 64])(
  '%d processes have as many threads in all, one per processor',
  (processes) => {
    const most = Math.max(processes, availableParallelism());
    for (const url of [SERVER, undefined]) {
      for (const rate of [2_000, 40_000, 60_000]) {
        const each = threads(url, rate, { processes });
        expect(each).toBeGreaterThanOrEqual(1);
        expect(processes * each).toBeLessThanOrEqual(most);
        expect(processes * (each - 1)).toBeLessThan(threads(url, rate));
      }
    }
    expect(threads(SERVER, 60_000, { processes, threads: 3 })).toBe(3);
  },
);

it.each([
  [1, undefined, '1 thread'],
  [4, undefined, '4 threads that share one limiter'],
  [1, 1, '1 process of 1 thread'],
  [4, 2, '2 processes of 4 threads that share one limiter'],
])('%s threads in %s processes', (threads, processes, text) => {
  expect(threadsText(threads, processes)).toBe(text);
});
