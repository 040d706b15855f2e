import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeFiles } from '../../src/cli/output.ts';
import { folderOfFile, folderOfTest, written } from '../support/folders.ts';
import { expectError, runInProcess } from './support/run-in-process.ts';

const folder = folderOfFile();

const OUT = join(folder, 'out');
const LOG = written(folder, 'log', '1\n2\n');
const TASK = join(folder, 'task.mjs');
writeFileSync(TASK, 'export default () => {};');
const JSON_FILE = written(folder, 'data.json', '[1]');
const PEM = written(folder, 'pem', '-----BEGIN NOTHING-----');
const LINK = join(folder, 'link');
symlinkSync(LOG, LINK);
const SERVER = 'https://localhost:1/';
const SIMULATE = ['simulate', '-l', 'leaky-bucket rate=5', '-d', '1s'];

test.each([
  [['load', '--json', OUT, '--report', relative('', OUT)], '--report would replace --json'],
  [['load', '--hgrm', OUT, '--json', OUT], '--hgrm would replace --json: both are '],
  [['load', TASK, '--rate', 'max', '--json', OUT, '--report', OUT], '--report would replace'],
  [['compare', LOG, OUT, '--json', LOG], '--json would replace an input'],
  [['compare', LOG, 'vs', OUT, '--report', OUT], '--report would replace an input'],
  [[...SIMULATE, '-f', LOG, '--json', LOG], '--json would replace an input'],
  [[...SIMULATE, '-f', LOG, '--json', LINK], '--json would replace an input'],
  [['load', TASK, '--arrivals', LOG, '--json', LOG], '--json would replace an input'],
  [['load', TASK, '--hgrm', TASK], '--hgrm would replace an input'],
  [['load', TASK, '--rate', 'max', '--json', TASK], '--json would replace an input'],
  [['load', TASK, '--data', `@${JSON_FILE}`, '--json', JSON_FILE], '--json would replace an input'],
  [['load', SERVER, '--body', `@${LOG}`, '--report', LOG], '--report would replace an input'],
  [['load', SERVER, '--ca', PEM, '--json', PEM], '--json would replace an input'],
  [['load', SERVER, '--cert', PEM, '--json', PEM], '--json would replace an input'],
  [['load', SERVER, '--key', PEM, '--json', PEM], '--json would replace an input'],
  [['load', '--hgrm', '-'], 'It must be the path of a writable file, not standard output'],
  [[...SIMULATE, '-a', 'constant rate=1', '--svg', OUT, '--json', OUT], '--svg would replace'],
])('%j is an error', async (args, message) => {
  await expectError(args, message);
  expect(readFileSync(LOG, 'utf8')).toBe('1\n2\n');
  expect(existsSync('-')).toBe(false);
});

test.each([
  [['load', '--json', join(folder, 'new'), '--rate', 'wrong']],
  [['load', join(folder, 'none.mjs'), '--report', join(folder, 'new')]],
  [[...SIMULATE, '-f', '/dev/null', '--svg', join(folder, 'new')]],
])('%j, which has no result, leaves no empty file', async (args) => {
  const { code } = await runInProcess(args);
  expect(code).toBe(1);
  expect(existsSync(join(folder, 'new'))).toBe(false);
});

test.each([
  [['load', '--json', folder], 'EISDIR'],
  [['load', '--json', join(folder, 'no', 'such')], 'ENOENT'],
  [['load', '--json', `${join(folder, 'new')}/`], 'EISDIR'],
])('%j cannot be written, which is an error before the run', (args, reason) =>
  expectError(args, `the path of a writable file (${reason}`),
);

test('a link that leads nowhere stays, if nothing can be written through it', async () => {
  const link = join(folder, 'nowhere');
  symlinkSync(join(folder, 'no', 'such'), link);
  const { code, stderr } = await runInProcess([...SIMULATE, '-f', LOG, '--report', link]);
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('ENOENT') });
  expect(readlinkSync(link)).toBe(join(folder, 'no', 'such'));
});

test('a file that is replaced keeps its mode, its links and its place', async () => {
  const own = folderOfTest();
  const [file, twin, link] = [written(own, 'file', 'old'), join(own, 'twin'), join(own, 'link')];
  chmodSync(file, 0o606);
  symlinkSync('file', link);
  const simulated = (path: string) => runInProcess([...SIMULATE, '-f', LOG, '--json', path]);
  expect((await simulated(link)).code).toBe(0);
  expect(readlinkSync(link)).toBe('file');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveProperty('limiters');
  expect(statSync(file).mode & 0o777).toBe(0o606);
  // With another name, it is the same file for both.
  linkSync(file, twin);
  writeFileSync(file, 'old');
  expect((await simulated(twin)).code).toBe(0);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveProperty('limiters');
  expect(readdirSync(own)).toEqual(['file', 'link', 'twin']);
});

test.skipIf(process.platform !== 'linux')(
  'a file that is open is written, and so is a pipe',
  () => {
    const own = folderOfTest();
    const [file, pipe] = [join(own, 'file'), join(own, 'pipe')];
    const opened = openSync(file, 'w+');
    expect(writeFiles({ json: `/proc/self/fd/${opened}` }, { json: () => 'one' })).toBe(true);
    expect(readFileSync(opened, 'utf8')).toBe('one');
    const [open, links] = [join(own, 'open'), join(own, 'links')];
    symlinkSync(`/proc/self/fd/${opened}`, open);
    symlinkSync('/dev/fd', links);
    for (const [at, link] of [open, `${links}/${opened}`].entries()) {
      expect(writeFiles({ json: link }, { json: () => `by a link ${at}` })).toBe(true);
      expect(readFileSync(file, 'utf8')).toBe(`by a link ${at}`);
      expect(statSync(file).ino, 'no other file took its place').toBe(fstatSync(opened).ino);
    }
    closeSync(opened);
    execFileSync('mkfifo', [pipe]);
    const both = openSync(pipe, 'r+');
    expect(writeFiles({ json: pipe }, { json: () => 'two' })).toBe(true);
    const read = Buffer.alloc(9);
    expect(read.toString('utf8', 0, readSync(both, read))).toBe('two');
    closeSync(both);
    expect(readdirSync(own)).toEqual(['file', 'links', 'open', 'pipe']);
  },
);

test.skipIf(process.platform === 'win32' || process.getuid?.() === 0)(
  'a file is written where its folder permits no new one',
  () => {
    const own = folderOfTest();
    const file = written(own, 'file', 'old');
    chmodSync(own, 0o555);
    expect(writeFiles({ json: file }, { json: () => 'new' })).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe('new');
    chmodSync(own, 0o755);
  },
);

test('different files, devices and standard streams are fine', async () => {
  const some = [...SIMULATE, '-a', 'constant rate=1', '--json', '-', '--report', OUT];
  expect((await runInProcess(some)).code).toBe(0);
  const none = [...SIMULATE, '-f', LOG, '--svg', '/dev/null', '--report', '/dev/null'];
  expect((await runInProcess(none)).code).toBe(0);
});

test.runIf(existsSync('/dev/shm'))('ordinary files in /dev are files', async () => {
  const shared = mkdtempSync('/dev/shm/zerotime-outputs-');
  onTestFinished(() => rmSync(shared, { recursive: true }));
  const path = join(shared, 'log');
  writeFileSync(path, '1\n');
  await expectError([...SIMULATE, '-f', path, '--json', path], 'replace');
});
