import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderOfFile, written } from '../support/folders.ts';
import { runCli } from './support/run-cli.ts';
import { expectError, runInProcess } from './support/run-in-process.ts';

const folder = folderOfFile();

/** Starts a process for what the command itself answers: subcommands can do so in this one. */
const run = (args: readonly string[]) => (args.length > 1 ? runInProcess(args) : runCli(args));

describe('the zerotime command', () => {
  it('prints its version', async () => {
    const manifest = new URL('../../package.json', import.meta.url);
    const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
    expect(await runCli(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it.each([
    [['--help'], /load \[options\] \[target\]/],
    [['simulate', '--help'], /--limiter <limiter>(.|\n)*fixed-window limit=(.|\n)*Exit code: 0/],
    [
      ['load', '--help'],
      /--rate <number>(.|\n)*Exit codes:\n +0 +all is well\n +1 (.|\n)* +3 +a gate failed/,
    ],
  ])('%j shows help', async (args, text) => {
    const { code, stdout } = await run(args);
    expect(code).toBe(0);
    expect(stdout).toMatch(text);
  });

  it.each([
    [['load', '--rat', '1'], /unknown option '--rat'.*\n.*--rate/],
    [['load', '-r', 'fast'], /--rate <number>' argument 'fast' is invalid.*such as 2000/],
    [
      ['load', '-t', '9', '-c', '8'],
      /--connections must be at least 9, one for each thread, got 8/,
    ],
    [
      ['load', '--processes', '3', '-t', '3', '-c', '8'],
      /--connections must be at least 9, one for each thread, got 8/,
    ],
    [
      ['load', 'http://a/', '--processes', '2', '--redis', 'redis://a'],
      /'--processes <number>' cannot be used with option '--redis <url>'/,
    ],
    [['load', '--redis-key', 'a'], /--redis-key needs --redis/],
    [['load', 'http://a/', 'http://b/'], /too many arguments/],
  ])('%j ends with what is wrong and no load', expectError);

  it('names the command that it does not know', async () => {
    const { code, stdout, stderr } = await runCli(['lode']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/unknown command 'lode'/);
  });

  it
    .skipIf(!existsSync('/dev/full'))
    .each([
      [['--help']],
      [['simulate', '-l', 'leaky-bucket rate=1', '-a', 'constant rate=1', '-d', '1s']],
    ])('%j ends with 1 if its output cannot be written', async (args) => {
    const full = openSync('/dev/full', 'w');
    const { code, stderr } = await runCli(args, full);
    closeSync(full);
    expect(code).toBe(1);
    expect(stderr).toContain('error: standard output was not written: ENOSPC');
  });

  it.skipIf(!existsSync('/bin/sh'))(
    'leaves what was there if a file cannot be written in full',
    async () => {
      const [part, old] = [join(folder, 'part'), written(folder, 'old', 'old')];
      const simulate = ['simulate', '-l', 'leaky-bucket rate=1', '-a', 'constant rate=1'];
      // At most one block for each file.
      const limited = ['/bin/sh', '-c', 'ulimit -f 1; "$@"', 'sh'];
      const args = [...simulate, '--json', part, '--report', old];
      const { code, stderr } = await runCli(args, 'pipe', limited);
      expect(code).toBe(1);
      expect(stderr).toContain(`error: ${part} was not written: EFBIG`);
      expect(stderr).toContain(`error: ${old} was not written: EFBIG`);
      expect(readFileSync(old, 'utf8')).toBe('old');
      expect(readdirSync(folder).filter((name) => /part|zerotime/.test(name))).toEqual([]);
    },
  );

  it('keeps an existing file unchanged until there is a result', async () => {
    const path = written(folder, 'kept.json', 'old');
    await runCli(['load', '--json', path, '--rate', 'wrong']);
    expect(readFileSync(path, 'utf8')).toBe('old');
  });
});
