import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { commandWithOptions, type Given } from '../../../src/cli/load/options.ts';
import { checkGiven, planOf } from '../../../src/cli/load/plan.ts';
import { CERT, KEY } from '../../support/certificate.ts';
import { runInProcess } from '../support/run-in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'zerotime-transport-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

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
  ])('%j is an error', async (args, message) => {
    const url = args[0] === HTTPS ? [] : ['http://localhost:1/'];
    const { code, stderr } = await runInProcess(['load', ...url, ...args]);
    expect(stderr).toMatch(message);
    expect(code).toBe(1);
  });

  it('need the url of a target', async () => {
    const server = createServer();
    const path = join(folder, 'other');
    await new Promise<void>((resolve) => server.listen(path, resolve));
    expect((await runInProcess(['load', '--unix', path])).stderr).toMatch(
      /--unix needs a target URL/,
    );
    await new Promise((resolve) => server.close(resolve));
    const { stderr } = await runInProcess(['load', '--insecure']);
    expect(stderr).toMatch(/--insecure needs an https URL; got none/);
  });
});
