import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { HostRegion } from '../../src/host.ts';
import { TokenBucket } from '../../src/index.ts';
import { hostPath } from '../support/host.ts';

const EXAMPLES = new URL('../../docs/examples/', import.meta.url);

function start(name: string, settings: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [new URL(name, EXAMPLES).pathname], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  return { child, lines: createInterface(child.stdout) };
}

test('a cluster of four serves one port with express, and admits exactly its burst', async () => {
  const settings = { REGION: hostPath(), RATE: '0.001', BURST: '50', PORT: '0' };
  const { lines } = start('cluster.mjs', settings);
  let listening = 0;
  let port = '';
  for await (const line of lines) {
    [, port = ''] = line.split(' ');
    if (++listening === 4) break;
  }
  const ask = async () => {
    // Each request on a connection of its own, so that all processes get some.
    const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } });
    return { status: answer.status, body: await answer.text() };
  };
  const answers = await Promise.all(Array.from({ length: 120 }, ask));
  const admitted = answers.filter(({ status }) => status === 200);
  expect(admitted).toHaveLength(50);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(70);
  // Each names the process that served it.
  expect(new Set(admitted.map(({ body }) => body)).size).toBeGreaterThan(1);
});

test('programs that do not know of each other, and forks, keep one limit', async () => {
  const REGION = hostPath();
  const settings = { REGION, RATE: '200', BURST: '60000', SECONDS: '0.3' };
  const region = HostRegion.open({ path: REGION });
  onTestFinished(() => region.close());
  const bucket = TokenBucket.open(region, 'rows', { rate: 200, burst: 60_000 });
  const before = bucket.balance();
  const runs = ['job.mjs', 'job.mjs', 'forks.mjs'].map((name) => start(name, settings));
  const counts: number[] = [];
  for (const { lines } of runs) lines.on('line', (line) => counts.push(Number(line)));
  await Promise.all(runs.map(({ child }) => once(child, 'close')));
  expect(counts).toHaveLength(5);
  const rows = counts.reduce((sum, count) => sum + count, 0);
  // A full bucket admits no more than it holds, and some arrive meanwhile.
  expect(rows).toBeGreaterThanOrEqual(before - bucket.balance());
  expect(Math.min(...counts)).toBeGreaterThan(0);
});
