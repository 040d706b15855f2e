import { expect, it } from 'vitest';
import { explore, exploreStops, subjectModule } from './explore.ts';
import type { Operation } from './subject.ts';

const now: Operation = ['isDue', 100];

it.each([
  ['at most once an interval', '0 0 100'],
  ['on the first three', '3 0 0'],
  ['on every second', '0 2 0'],
  ['on every second, and once an interval', '0 2 100'],
])('three threads act %s, in every interleaving', async (_, setup) => {
  const scenario = { module: subjectModule('sometimes'), setup };
  const { violations, interleavings } = await explore({
    ...scenario,
    threads: [[now], [now], [now]],
  });
  expect(violations).toEqual([]);
  expect(interleavings).toBeGreaterThan(3);
  const stops = await exploreStops({ ...scenario, threads: [[now], [now, now]] });
  expect(stops.violations).toEqual([]);
});
