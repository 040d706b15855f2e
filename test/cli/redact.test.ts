import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { Command } from 'commander';
import { describe, expect, it, vi } from 'vitest';
import { safeCommandLine } from '../../src/cli/about.ts';
import {
  endQuietly,
  failIfLost,
  printError,
  withSafeErrors,
  writeFiles,
} from '../../src/cli/output.ts';
import { safeHeaders } from '../../src/load/plan/headers.ts';
import { printable, printableLine, safeText, safeTextLine } from '../../src/load/plan/redact.ts';
import { folderOfTest } from '../support/folders.ts';

function onStderr(): string[] {
  const said: string[] = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  return said;
}

describe('text from outside', () => {
  it.each([
    ["'http://ann:s3cret@host/a'", "'http://***@host/a'"],
    ['redis://:p@ss@host:6379', 'redis://***@host:6379'],
    ['http://host/a@b', 'http://host/a@b'],
    ['http://host:80/a@b http://[::1]:80/a@b', 'http://host:80/a@b http://[::1]:80/a@b'],
    ["'http://ann:s3/cret@host/a'", "'http://***@host/a'"],
    ["redis://:s3/cr'et@host", 'redis://***@host'],
    ['redis://:12/34@host:6379', 'redis://***@host:6379'],
    ["'Cookie id=s3cret' is invalid. It", "'Cookie: ***' is invalid. It"],
    ["'Authorization Bearer a'b s3cret' is invalid", "'Authorization: ***' is invalid"],
    [
      "argument 'Authorization Basic s3cret' is invalid",
      "argument 'Authorization: ***' is invalid",
    ],
    ["'Proxy-Authorization: Bearer s3cret'", "'Proxy-Authorization: ***'"],
    ["'X-Api-Key: s3cret'", "'X-Api-Key: ***'"],
    ['X-Auth-Token: s3cret', 'X-Auth-Token: ***'],
    ['Client-Secret: s3cret', 'Client-Secret: ***'],
    ['/?PHPSESSID=s3cret&accessKey=s3cret', '/?PHPSESSID=***&accessKey=***'],
    [
      '/?passcode=s3cret&mfa=s3cret&totp=s3cret&cred=s3cret',
      '/?passcode=***&mfa=***&totp=***&cred=***',
    ],
    ['--redis-key needs --redis, the key', '--redis-key needs --redis, the key'],
    [
      "option '-H, --header <name: value>' argument 'X-Any s3cret' is invalid. It",
      "option '-H, --header <name: value>' argument 'X-Any: ***' is invalid. It",
    ],
    ['a\u001b[31mred\u0007\u009b2J', 'a\\x1b[31mred\\x07\\x9b2J'],
    // A histogram in base64.
    ['HISTFAA/6Pw38-pw==', 'HISTFAA/6Pw38-pw=='],
    ['pw==s3cret', 'pw=***'],
    ['http://a/?q=1&api_key=abc&token=x#top', 'http://a/?q=1&api_key=***&token=***#top'],
    ['two\nlines\tand a tab', 'two\nlines\tand a tab'],
  ])('%j is printed as %j', (text, printed) => {
    expect(safeText(text)).toBe(printed);
  });

  it.each([
    ['api\nforged\ttab\u2028line', 'api\\x0aforged\\x09tab\\u2028line'],
    ['abc\u202edef\u200f', 'abc\\u202edef\\u200f'],
    ['http://ann:s3cret@host/\n', 'http://***@host/\\x0a'],
  ])('%j is %j as a part of a line', (text, printed) => {
    expect(safeTextLine(text)).toBe(printed);
    expect(printableLine(text)).not.toMatch(/[\n\t\u2028\u202e\u200f]/);
  });

  it('stays as it is where it may hold anything but controls', () => {
    expect(printable('http://ann:x@host\r')).toBe('http://ann:x@host\\x0d');
  });

  it('stores the names of headers, and the values only of those known to be harmless', () => {
    const kept = safeHeaders([
      ['Authorization', 'Basic s3cret'],
      ['X-Tenant', 'a'],
      ['Accept', '*/*'],
    ]);
    expect(kept).toEqual([
      ['Authorization', expect.stringMatching(/^hash:[0-9a-f]{8}$/)],
      ['X-Tenant', expect.stringMatching(/^hash:[0-9a-f]{8}$/)],
      ['Accept', '*/*'],
    ]);
  });

  it('stores a hash that tells whether two runs sent the same value of a header', () => {
    const hashOf = (name: string, value: string) => safeHeaders([[name, value]])[0]?.[1];
    expect(hashOf('X-Tenant', 'a')).toBe(hashOf('x-tenant', 'a'));
    const others = [hashOf('X-Tenant', 'b'), hashOf('X-Other', 'a')];
    expect(others).not.toContain(hashOf('X-Tenant', 'a'));
  });
});

describe('errors', () => {
  it('are printed without secrets, in every report', () => {
    const said = onStderr();
    printError(new Error('no answer from redis://:s3cret@host'));
    printError('a string\u001b[2J');
    const command = withSafeErrors(new Command().exitOverride(), 'zerotime');
    expect(() => command.error('http://ann:s3cret@host is invalid')).toThrow();
    expect(said).toEqual([
      'error: no answer from redis://***@host\n',
      'error: a string\\x1b[2J\n',
      'http://***@host is invalid\n',
      '(zerotime --help shows all options)\n',
    ]);
  });

  it('of one file do not keep the others from being written, and name the file', () => {
    const said = onStderr();
    const path = join(folderOfTest(), 'b.html');
    const failing = () => {
      throw new Error('ENOSPC');
    };
    const texts = { json: failing, svg: failing, report: () => 'a page' };
    expect(writeFiles({ json: 'a.json', report: path }, texts)).toBe(false);
    expect(readFileSync(path, 'utf8')).toBe('a page');
    expect(said).toEqual(['error: a.json was not written: ENOSPC\n']);
    expect(writeFiles({ report: path }, texts)).toBe(true);
  });
});

describe('an output', () => {
  /** The error for which output is lost, at once and later, after a write failed with this code. */
  async function lostAfter(code: string): Promise<(Error | undefined)[]> {
    const error = Object.assign(new Error(code), { code });
    const stream = new Writable({ write: (_chunk, _encoding, callback) => callback(error) });
    const lost = endQuietly(stream);
    expect(lost()).toBeUndefined();
    const failed = new Promise((resolve) => stream.on('error', resolve));
    stream.write('a line');
    const atOnce = lost();
    await failed;
    return [atOnce, lost()];
  }

  it('that nobody reads does not end the command, and is no failure', async () => {
    expect(await lostAfter('EPIPE')).toEqual([undefined, undefined]);
    failIfLost(undefined);
    expect(process.exitCode).toBeUndefined();
  });

  it('that cannot be written keeps the command from looking like a success', async () => {
    const said = onStderr();
    const [atOnce, later] = await lostAfter('ENOSPC');
    expect([atOnce?.message, later]).toEqual(['ENOSPC', atOnce]);
    for (const [before, after] of [
      [undefined, 1],
      [0, 1],
      [3, 3],
    ]) {
      process.exitCode = before;
      failIfLost(later);
      expect(process.exitCode).toBe(after);
    }
    process.exitCode = undefined;
    expect(said[0]).toBe('error: standard output was not written: ENOSPC\n');
  });
});

it.each([
  [['load', 'http://a/b?c=1', '-r', '100'], "zerotime load 'http://a/b?c=1' -r 100"],
  [['load', '-H', 'Authorization: Bearer abc'], "zerotime load -H 'Authorization: ***'"],
  [['load', '--header=Cookie: a=b'], "zerotime load '--header=Cookie: ***'"],
  [['load', '-HCookie: a=b'], "zerotime load '-HCookie: ***'"],
  [['load', '-H', 'Accept: text/html'], "zerotime load -H 'Accept: text/html'"],
  [['load', '-H', 'nonsense'], 'zerotime load -H nonsense'],
  [['load', '--body', '{"password":"abc"}'], "zerotime load --body '***'"],
  [['load', '--body=secret'], "zerotime load '--body=***'"],
  [['load', '--data', '{"token":"abc"}'], "zerotime load --data '***'"],
  [['load', '--data=1'], "zerotime load '--data=***'"],
  [['load', '--data', '@rows.json'], 'zerotime load --data @rows.json'],
  [['load', '--body', '@item.json'], 'zerotime load --body @item.json'],
  [['load', '--body=@item.json'], 'zerotime load --body=@item.json'],
  [['load', '--redis', 'redis://me:abc@host/1'], "zerotime load --redis 'redis://***@host/1'"],
  [['load', 'http://a/?access_token=abc&n=1'], "zerotime load 'http://a/?access_token=***&n=1'"],
  [['load', "it's"], "zerotime load 'it'\\''s'"],
])('%j is stored as %s', (args, stored) => {
  expect(safeCommandLine(args)).toBe(stored);
});
