import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { RemoteSampler } from '../../../../src/integrations/opentelemetry.ts';
import { Crew, compiled } from '../../../support/crew.ts';
import type { RemoteJob, RemoteReport } from '../../../workers/remote-sampling.ts';
import { StrategyServer } from './strategy-server.ts';

const THREADS = 4;
const POLL_MS = 100;
/** Long enough for any machine. */
const POLLING = { timeout: 60_000, interval: 5 };

function keeping(of256: number): string {
  return JSON.stringify({ probabilisticSampling: { samplingRate: of256 / 256 } });
}

function samplerOf(server: StrategyServer, pollMs: number): RemoteSampler {
  const { endpoint } = server;
  const quiet = { onError: () => undefined };
  const sampler = RemoteSampler.create({ service: 'shop', endpoint, pollMs, ...quiet });
  onTestFinished(() => sampler.close());
  return sampler;
}

test('4 threads obey each change under load, with one question for each interval', async () => {
  const server = await StrategyServer.start(keeping(128));
  const sampler = samplerOf(server, POLL_MS);
  const crew = await Crew.start<RemoteJob, RemoteReport>('remote-sampling', THREADS);
  await crew.run({ handle: sampler.handle, until: 128 });
  const startedMs = performance.now();
  const pollsBefore = sampler.stats().polls;
  for (const of256 of [64, 256, 0, 192]) {
    server.answer = keeping(of256);
    for (const { kept, error } of await crew.run({ until: of256 })) {
      expect({ kept, error }).toEqual({ kept: of256 });
    }
  }
  const { polls } = sampler.stats();
  const intervals = (performance.now() - startedMs) / POLL_MS;
  // Whichever thread is first in an interval asks. The server may hear of several at once.
  expect(polls - pollsBefore).toBeLessThanOrEqual(Math.ceil(intervals) + 1);
  expect(server.asked.length).toBeLessThanOrEqual(sampler.stats().polls);
});

test('outages and nonsense under load leave the last strategy in force', async () => {
  const server = await StrategyServer.start(keeping(64));
  const sampler = samplerOf(server, POLL_MS);
  const crew = await Crew.start<RemoteJob, RemoteReport>('remote-sampling', THREADS);
  await crew.run({ handle: sampler.handle, until: 64 });
  const word = new SharedArrayBuffer(4);
  const running = crew.run({ word });
  const failures: StrategyServer['answer'][] = ['nonsense', (response) => response.destroy()];
  for (const failure of failures) {
    const { failedPolls } = sampler.stats();
    server.answer = failure;
    await vi.waitUntil(() => sampler.stats().failedPolls > failedPolls + 1, POLLING);
  }
  new Int32Array(word)[0] = 1;
  for (const { seen, error } of await running) expect({ seen, error }).toEqual({ seen: [64] });
});

test('polling continues when the threads that polled have ended', async () => {
  const server = await StrategyServer.start(keeping(64));
  const sampler = samplerOf(server, POLL_MS);
  const crew = await Crew.start<RemoteJob, RemoteReport>('remote-sampling', 2);
  await crew.run({ handle: sampler.handle, until: 64 });
  sampler.close();
  await crew.workers[0]?.terminate();
  server.answer = keeping(32);
  await vi.waitUntil(() => sampler.stats().strategies > 2, POLLING);
  await crew.workers[1]?.terminate();
  // No thread is left to poll: once the last poll is answered, there are no more.
  await vi.waitUntil(async () => {
    const before = server.asked.length;
    await new Promise((resolve) => setTimeout(resolve, 3 * POLL_MS));
    return server.asked.length === before;
  }, POLLING);
});

test.each<[string, StrategyServer['answer']]>([
  ['answers', keeping(64)],
  ['never answers', () => undefined],
])('polling does not keep a process running while the server %s', async (_, answer) => {
  const server = await StrategyServer.start(answer);
  const library = new URL('../../src/integrations/opentelemetry.js', compiled('remote-sampling'));
  const program = `
    import { RemoteSampler } from ${JSON.stringify(library)};
    const sampler = RemoteSampler.create({
      service: 'shop', endpoint: ${JSON.stringify(server.endpoint)}, pollMs: 100, timeoutMs: 600000,
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    console.log(sampler.stats().polls > 0);
  `;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], {
    timeout: 60_000,
  });
  expect(stdout).toBe('true\n');
});
