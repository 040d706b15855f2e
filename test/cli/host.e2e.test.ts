import { expect, test } from 'vitest';
import { Semaphore, TokenBucket } from '../../src/index.ts';
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
