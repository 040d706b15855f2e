import { describe, expect, it } from 'vitest';
import { explore } from './explore.ts';
import { Explorer } from './explorer.ts';
import { REGRESSIONS } from './regressions.ts';
import { type Listed, SCENARIOS, title } from './scenarios.ts';
import { parseSchedule } from './schedule-text.ts';

/** Every nth scenario is explored here: odd, because kernels alternate. `npm run explore` explores all. */
const SAMPLE = 61;

/** All scenarios except slow ones, which take seconds. */
function isQuick({ subject, threads }: Listed): boolean {
  const isPair = threads.length === 2 && threads.every(({ length }) => length === 1);
  return (
    isPair ||
    !/^(bucket|(keyed )?limit set|fixed-window|double-burst|sliding|keyed, rec)/.test(subject)
  );
}

describe('in every interleaving, with a thread stopped before any step, each operation happens at one instant:', () => {
  const sample = SCENARIOS.filter(isQuick).filter((_, index) => index % SAMPLE === SAMPLE >> 1);

  it.each(sample.map((one): [string, Listed] => [title(one), one]))('%s', async (_, scenario) => {
    const { violation, interleavings, steps, stops } = await explore(scenario);
    expect(violation).toBeUndefined();
    expect(interleavings).toBeGreaterThan(0);
    // Operations that write nothing take no steps.
    expect(stops > 0).toBe(steps > 0 && scenario.stops === true);
  });
});

describe('schedules that once failed now pass, in both kernels:', () => {
  const titled = REGRESSIONS.flatMap(({ name, schedule }): [title: string, schedule: string][] => [
    [`atomics ${name}`, schedule],
    [`wasm ${name}`, schedule],
  ]);

  it.each(titled)('%s', async (name, schedule) => {
    const scenario = SCENARIOS.find((one) => title(one) === name);
    if (scenario === undefined) throw new Error(`no scenario is titled ${name}`);
    const explorer = await Explorer.open(scenario);
    expect(explorer.replay(parseSchedule(schedule)).isExplained).toBe(true);
    explorer.close();
  });
});
