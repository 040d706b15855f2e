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

/** What the threads do; the window admits 3. */
const SCENARIOS: [string, ...Operation[][]][] = [
  ['take and take', [take], [take]],
  ['take 2 and take 2', [takeTwo], [takeTwo]],
  ['take 2 and drain', [takeTwo], [drain]],
  ['drain and drain', [drain], [drain]],
  ['take and available', [take], [available]],
  ['take, and time passes', [take], [later]],
  ['take, and an interval later take 2', [take], [later, takeTwo]],
  ['take 2, and half an interval later drain', [takeTwo], [halfway, drain]],
];

/** A log takes so many steps that these would take minutes with it. */
const LONG_SCENARIOS: typeof SCENARIOS = [
  ['take, take and take 2', [take], [take], [takeTwo]],
  ['take twice, and drain', [take, take], [drain]],
  ['take then cancel, twice', [take, cancel], [take, cancel]],
  ['take 2 then cancel, and drain', [takeTwo, cancel], [drain]],
  ['take 2 twice, and time passes in between', [takeTwo, takeTwo], [later]],
  ['drain, and an interval later available', [drain], [later, available]],
];

describe.each(['fixed-window', 'sliding-window', 'sliding-log'])('%s', (kind) => {
  const window = { module: subjectModule('window'), setup: `${kind} 3` };
  const scenarios = kind === 'sliding-log' ? SCENARIOS : [...SCENARIOS, ...LONG_SCENARIOS];

  it.each(scenarios)('does each operation at one instant: %s', async (_, ...threads) => {
    const { violations } = await explore({ ...window, threads });
    expect(violations).toEqual([]);
  });

  it.each<[string, Operation[], Operation[]]>([
    ['take', [take], [takeTwo]],
    ['drain', [drain], [take]],
  ])('goes on when a thread is stopped for ever before any step: %s', async (_, ...threads) => {
    const { stops, violations } = await exploreStops({ ...window, threads });
    expect(violations).toEqual([]);
    expect(stops).toBeGreaterThanOrEqual(1);
  });
});
