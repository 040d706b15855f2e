import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { threadsText } from '../../../src/cli/load/command.ts';
import type { Given } from '../../../src/cli/load/options.ts';
import { planOf } from '../../../src/cli/load/plan.ts';

/** The threads of a run, or of each of its processes. */
function threads(
  url: string | undefined,
  rate: number,
  { ramp, ...more }: Pick<Given, 'ramp' | 'processes' | 'threads'> = {},
): number {
  const given: Given = {
    rate,
    durationMs: 1_000,
    burst: 1,
    timeoutMs: 1_000,
    warmupMs: 0,
    arrivals: 'even',
    ...more,
    ...(ramp && { ramp }),
  };
  const input = { body: undefined, instantsUs: undefined };
  return planOf(url, given, input, new Command()).threads;
}

const SERVER = 'http://localhost/';

// docs/load.md: "By default, a URL therefore gets one thread"
it.each([
  [2_000, 1],
  [15_000, 1],
  [15_001, 2],
  [60_000, 4],
  [1_000_000, 4],
])('%d requests a second to a URL need %d threads, if there are processors', (rate, wanted) => {
  const most = Math.min(wanted, availableParallelism());
  expect(threads(SERVER, rate)).toBe(most);
  expect(threads(SERVER, rate, { ramp: { from: 100, to: rate, overMs: 1_000 } })).toBe(most);
  expect(threads(SERVER, 2_000, { ramp: { from: rate, to: 100, overMs: 1_000 } })).toBe(most);
});

it('the embedded server and modules get four threads', () => {
  expect(threads(undefined, 1)).toBe(4);
  expect(threads('file:///task.mjs', 1)).toBe(4);
});

// docs/load.md: "Without --threads, the processes divide"
it.each([2, 3, 4, 64])(
  '%d processes have as many threads in all, one per processor',
  (processes) => {
    const most = Math.max(processes, availableParallelism());
    for (const url of [SERVER, undefined]) {
      for (const rate of [2_000, 40_000, 60_000]) {
        const each = threads(url, rate, { processes });
        expect(each).toBeGreaterThanOrEqual(1);
        expect(processes * each).toBeLessThanOrEqual(most);
        expect(processes * (each - 1)).toBeLessThan(threads(url, rate));
      }
    }
    expect(threads(SERVER, 60_000, { processes, threads: 3 })).toBe(3);
  },
);

it.each([
  [1, undefined, '1 thread'],
  [4, undefined, '4 threads that share one limiter'],
  [1, 1, '1 process of 1 thread'],
  [4, 2, '2 processes of 4 threads that share one limiter'],
])('%s threads in %s processes', (threads, processes, text) => {
  expect(threadsText(threads, processes)).toBe(text);
});
