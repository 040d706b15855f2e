import type { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { Crew } from './crew.ts';

const { handle: clock } = ManualClock.create();
const ended: Worker[] = [];

function expectNoneEnded({ workers }: { readonly workers: readonly Worker[] }): void {
  for (const worker of workers) expect(ended).not.toContain(worker);
}

/** A crew that has done a job. */
async function advanced() {
  const crew = await Crew.of('clocked', 'advance', 1);
  expectNoneEnded(crew);
  expect(await crew.run({ clock, times: 1 })).toHaveLength(1);
  return crew;
}

let rested: readonly Worker[];

test('the threads of a test rest when their jobs are done', async () => {
  ({ workers: rested } = await advanced());
});

test('the next test takes them over, for any job of their script', async () => {
  const { workers } = await Crew.of('clocked', 'litter', 1);
  expect(workers).toEqual(rested);
});

test('a crew of another size has threads of its own', async () => {
  const { workers } = await Crew.of('clocked', 'advance', 2);
  for (const worker of workers) expect(rested).not.toContain(worker);
});

test.each([
  ['a global', 'globalThis.litter'],
  ['a variable', 'process.env.LITTER'],
  ['another function', 'Math.random'],
  ['a timer', 'timers'],
] as const)('a job that leaves %s fails, and its threads do not rest', async (what, named) => {
  const crew = await Crew.of('clocked', 'litter', 1);
  expectNoneEnded(crew);
  await expect(crew.run({ what })).rejects.toThrow(`litter left changed: ${named}`);
  ended.push(...crew.workers);
});

test('threads that have ended are taken over by nobody', async () => {
  const { workers } = await advanced();
  await workers[0]?.terminate();
  ended.push(...workers);
});

test('so the next one has others', advanced);
