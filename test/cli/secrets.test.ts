import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderOfFile, written } from '../support/folders.ts';
import { NO_GATES } from './support/load-runs.ts';
import { runInProcess } from './support/run-in-process.ts';
import { httpServer, type TestServer } from './support/servers.ts';

const folder = folderOfFile();
let server: TestServer;
beforeAll(async () => {
  server = await httpServer((_, response) => response.end());
});
afterAll(async () => {
  await server.kill();
});

/** Parameters of a URL and headers whose values are secrets: 40 spellings. */
const PARAMETERS = [
  ...['sig', 'jwt', 'auth', 'sas', 'session', 'code', 'key', 'token', 'access_token'],
  ...['refreshToken', 'api_key', 'apikey', 'X-Amz-Signature', 'X-Amz-Security-Token', 'password'],
  ...['pwd', 'client_secret', 'sessionid', 'SAMLResponse', 'oauth_verifier', '%73ig'],
];
const HEADERS = [
  ...['X-Session-Id', 'X-Jwt', 'X-Passphrase', 'Authorization', 'Proxy-Authorization', 'Cookie'],
  ...['X-Api-Key', 'X-Auth', 'X-Vault-Token', 'X-Hub-Signature', 'Ocp-Apim-Subscription-Key'],
  ...['X-Pin', 'X-CSRF', 'X-Tenant', 'X-Whatever'],
];
/** What a task throws: its errors repeat what it was given. */
const THROWN = [
  'Authorization: Bearer s3cret-1',
  'postgres://ann:s3cret-2@host/db',
  'ann:s3cret-3@host',
  'https://host/?sig=s3cret-4',
];

/** Runs a load; returns everything that it printed and stored. */
async function everything(...args: string[]): Promise<string> {
  const [json, report] = [join(folder, 'a.json'), join(folder, 'a.html')];
  const short = ['-d', '100ms', '-t', '1', ...NO_GATES, '--json', json, '--report', report];
  const { stdout, stderr } = await runInProcess(['load', ...args, ...short]);
  return [stdout, stderr, readFileSync(json, 'utf8'), readFileSync(report, 'utf8')].join('\n');
}

describe('a secret', () => {
  it('is neither on the screen nor in the JSON nor on the page, in any of 40 spellings', async () => {
    expect(PARAMETERS.length + HEADERS.length + THROWN.length).toBe(40);
    const query = PARAMETERS.map((name, at) => `${name}=s3cret-q${at}`).join('&');
    const headers = HEADERS.flatMap((name, at) => ['-H', `${name}: s3cret-h${at}`]);
    const requests = await everything(`${server.url}?page=2&${query}#id_token=s3cret`, ...headers);
    const task = written(
      folder,
      'task.mjs',
      `const thrown = ${JSON.stringify(THROWN)};
      let n = 0;
      export default () => {
        n += 1;
        throw Object.assign(new Error(thrown[n % 4]), { name: 'E' + (n % 4), code: 'token=s3cret' });
      };`,
    );
    const calls = await everything(task, '--rate', '200');
    const closed = await everything(task, '--rate', 'max', '--warmup', '0');
    for (const [name, text] of Object.entries({ requests, calls, closed })) {
      const leaks = [...text.matchAll(/.{0,40}s3cret[\w-]*/g)].map(([leak]) => leak);
      expect(leaks, name).toEqual([]);
    }
    // Harmless parts stay readable, and the names of headers say what was sent.
    expect(requests).toContain('page=2');
    for (const name of HEADERS) expect(requests).toContain(name);
  });

  it.each([
    ['http://ann:s3cret@localhost/'],
    ['ann:s3cret@localhost/'],
    ['ann:s3/cret@localhost:80/'],
    ['http://localhost/', '-H', 'Authorization s3cret'],
    ['http://localhost/', 'Bearer', 's3cret'],
    ['localhost:8080/?sig=s3cret'],
    ['http://localhost/', '--api-key=s3cret'],
    ['http://localhost/', '--rate', '\u001b[2J'],
  ])('is not repeated by the error of load %s %s, which steers no terminal', async (...args) => {
    const { stderr, code } = await runInProcess(['load', ...args]);
    expect(code).toBe(1);
    expect(stderr).toContain('error:');
    expect(stderr).not.toContain('s3cret');
    expect(stderr).not.toContain('cret@');
    expect(stderr).not.toContain('\u001b');
  });
});

it('advice on headers is printed in full', async () => {
  const { stderr } = await runInProcess(['load', 'http://ann:s3cret@localhost/']);
  expect(stderr).toContain("(use --header 'Authorization: Basic ...').");
});

it('the name and code of an error cannot steer the terminal or reorder a line', async () => {
  const task = join(folder, 'controls.mjs');
  const [name, code, message] = ['a\u202eb\u001b[2J', 'c\u2066d\u0007', 'e\u200ff\u009b'];
  writeFileSync(
    task,
    `export default () => {
      throw Object.assign(new Error(${JSON.stringify(message)}), ${JSON.stringify({ name, code })});
    };`,
  );
  for (const rate of ['100', 'max']) {
    const text = await everything(task, '--rate', rate, '--warmup', '0');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they must be absent
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e\u2066\u200f]/);
    expect(text).toContain('a\\u202eb\\x1b[2J c\\u2066d\\x07');
  }
});
