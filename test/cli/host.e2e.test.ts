import { symlinkSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { expect, test } from 'vitest';
import { Semaphore, TokenBucket } from '../../src/index.ts';
import { folderOfTest } from '../support/folders.ts';
import { hostRegion } from '../support/host.ts';
import { Cli, runCli } from './support/run-cli.ts';

test('zerotime host shows the limiters and processes of a region, which it does not remove', async () => {
  const region = hostRegion();
  const bucket = TokenBucket.open(region, 'api', { rate: 1e-6, burst: 100, stats: true });
  bucket.tryConsume(40);
  bucket.tryConsume(70);
  Semaphore.open(region, 'permits', { permits: 3 }).tryAcquire(2);
  const { stdout, code } = await runCli(['host', 'show', region.path]);
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(/^\/dev\/shm\/zerotime-test-\S+: 1,048,576 bytes, 2 % used$/),
    '',
    'Limiters (2)',
    expect.stringMatching(/^ {2}api {6}TokenBucket \{.*tokens: 60.* 2 calls, 1 refused$/),
    expect.stringMatching(/^ {2}permits {2}Semaphore \{ permits: 3, inUse: 2 \} +0 waiting$/),
    '',
    'Processes (1)',
    expect.stringMatching(new RegExp(`^ {2}${process.pid} {2}open for \\d+ m?s {2}alive$`)),
    '',
  ]);
  const list = await runCli(['host', 'ls']);
  expect(list.stdout).toContain(
    `${region.path}  1,048,576 bytes, 2 % used, 2 limiters, 1 process\n`,
  );

  const refused = await runCli(['host', 'rm', region.path]);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('is open in process') });
});

test('zerotime host show --watch shows it again and again', async () => {
  const region = hostRegion();
  const cli = new Cli(['host', 'show', region.path, '--watch', '10ms']);
  let shown = '';
  for await (const chunk of cli.child.stdout ?? []) {
    shown += chunk;
    if (shown.split('Limiters (0)').length > 3) break;
  }
  expect(shown).toContain(`${region.path}: `);
  // Nobody reads any more, as after `head`.
  expect((await cli.finished()).code).toBe(0);
});

test('zerotime host show --watch leaves the region when it is interrupted', async () => {
  const region = hostRegion();
  const cli = new Cli(['host', 'show', region.path, '--watch', '10m']);
  cli.child.stdout?.once('data', () => cli.child.kill('SIGINT'));
  expect(await cli.finished()).toMatchObject({ code: 0, stderr: '' });
  // Not that of a process that crashed.
  expect(region.processes()).toHaveLength(1);
  expect(region.recovered().processes).toBe(0);
});

test('zerotime host serve serves a file once, by whatever links it is named', async () => {
  const { path } = hostRegion();
  const folder = `${folderOfTest()}/link`;
  symlinkSync(dirname(path), folder);
  const paths = [path, `${folder}/${basename(path)}`, '/no/such/folder/region'];
  const cli = new Cli(['host', 'serve', ...paths, '--port', '0']);
  let served = '';
  for await (const chunk of cli.child.stdout ?? []) {
    served += chunk;
    if (served.includes('Waiting: ')) break;
  }
  cli.child.kill('SIGTERM');
  await cli.finished();
  expect(served.match(/^Serving /gm)).toHaveLength(1);
});
