import { describe, expect, it } from 'vitest';
import { explore, exploreStops, subjectModule } from './explore.ts';
import type { Operation } from './subject.ts';

const take: Operation = ['take', 1];
const takeTwo: Operation = ['take', 2];
const drain: Operation = ['drain', 3];
const available: Operation = ['available'];
const cancel: Operation = ['cancel'];
const halfway: Operation = ['advance', 50];
const later: Operation = ['advance', 100];

/** What two threads do; the window admits 3. */
const SCENARIOS: [string, ...Operation[][]][] = [
  ['take and take', [take], [take]],
  ['take 2 and take 2', [takeTwo], [takeTwo]],
  ['take 2 and drain', [takeTwo], [drain]],
  ['drain and drain', [drain], [drain]],
  ['take and available', [take], [available]],
  ['take, take and take 2', [take], [take], [takeTwo]],
  ['take twice, and drain', [take, take], [drain]],
  ['take then cancel, twice', [take, cancel], [take, cancel]],
  ['take 2 then cancel, and drain', [takeTwo, cancel], [drain]],
  ['take, and time passes', [take], [later]],
  ['take, and an interval later take 2', [take], [later, takeTwo]],
  ['take 2, and half an interval later drain', [takeTwo], [halfway, drain]],
  ['take 2 twice, and time passes in between', [takeTwo, takeTwo], [later]],
  ['take then cancel, and an interval later drain', [take, cancel], [later, drain]],
  ['drain, and an interval later available', [drain], [later, available]],
];

describe.each(['fixed-window', 'sliding-window', 'sliding-log'])('%s', (kind) => {
  const window = { module: subjectModule('window'), setup: `${kind} 3` };

  it.each(SCENARIOS)('does each operation at one instant: %s', async (_, ...threads) => {
    const { violations } = await explore({ ...window, threads });
    expect(violations).toEqual([]);
  });

  it.each<[string, Operation[], Operation[]]>([
    ['take', [take], [takeTwo]],
    ['drain', [drain], [later, take]],
    ['take in a new window', [later, takeTwo], [take]],
  ])('goes on when a thread is stopped for ever before any step: %s', async (_, ...threads) => {
    const { stops, violations } = await exploreStops({ ...window, threads });
    expect(violations).toEqual([]);
    expect(stops).toBeGreaterThanOrEqual(1);
  });
});
