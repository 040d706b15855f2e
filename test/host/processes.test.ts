import { expect, test } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { ask, hostRegion, startProcesses } from '../support/host.ts';
import { IN_FULL } from '../support/random.ts';
import type { Hammered, HammerStep } from '../workers/host-process.ts';

const PROCESSES = 4;
const STEPS = IN_FULL ? 40 : 3;
/** So many steps are enough for any scheduler to let every thread take part. */
const MOST_STEPS = 200;

test('four processes of two threads are admitted exactly burst + rate * t after every step', async () => {
  const region = hostRegion();
  const clock = ManualClock.open(region, 'clock');
  const gate = ManualClock.open(region, 'gate');
  const limit = { rate: 4_000_000, burst: 200_000 };
  const bucket = TokenBucket.open(region, 'api', { ...limit, clock, stats: true });
  const children = await startProcesses('host-process', PROCESSES);
  let admitted = 0;
  let failedExchanges = 0;
  const byThread = Array.from({ length: 2 * PROCESSES }, () => 0);
  const isDone = () => failedExchanges > 0 && byThread.every((count) => count > 0);
  for (let step = 1; step <= STEPS || (step <= MOST_STEPS && !isDone()); step++) {
    const job: HammerStep = { path: region.path, ...limit, startMs: step };
    const answers = children.map((child) => ask<Hammered[]>(child, job));
    gate.advance(1);
    const threads = (await Promise.all(answers)).flat();
    for (const [i, thread] of threads.entries()) {
      admitted += thread.admitted;
      failedExchanges = Math.max(failedExchanges, thread.failedExchanges);
      byThread[i] = (byThread[i] ?? 0) + thread.admitted;
    }
    expect(admitted).toBe(limit.burst + (limit.rate * clock.nowMs) / 1000);
    clock.advance(50);
  }
  expect(
    byThread.every((count) => count > 0),
    `${byThread}`,
  ).toBe(true);
  expect(bucket.stats()).toMatchObject({ admitted });
  expect(bucket.stats().failedExchanges).toBeGreaterThan(0);
});
