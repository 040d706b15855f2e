import { expect, it } from 'vitest';
import { PLAIN } from '../../../src/cli/load/format.ts';
import { parseLimiter } from '../../../src/cli/simulate/limiter-specs.ts';
import { parsePattern } from '../../../src/cli/simulate/patterns.ts';
import { exitCode } from '../../../src/cli/simulate/result.ts';
import { runSimulation } from '../../../src/cli/simulate/run.ts';
import { SimulatedClock } from '../../../src/cli/simulate/simulated-clock.ts';
import { renderSummary } from '../../../src/cli/simulate/summary.ts';

const limiters = [parseLimiter('leaky-bucket rate=10')];

it('a minute is simulated where nothing else is said, from a seed that is told', async () => {
  const arrivals = parsePattern('poisson rate=5');
  const first = await runSimulation({ limiters, arrivals, spread: true });
  expect(first.durationMs).toBe(60_000);
  const { seed } = first.source;
  if (seed === undefined) throw new Error('no seed');
  const again = await runSimulation({ limiters, arrivals, spread: true, seed });
  expect(again.arrivals.counts).toEqual(first.arrivals.counts);
});

it('without arrivals and a file there is nothing to simulate', () => {
  expect(() => runSimulation({ limiters, spread: true })).toThrow(TypeError);
});

it('a bound that was broken is told, and is exit code 2', async () => {
  const arrivals = parsePattern('constant rate=5');
  const result = await runSimulation({ limiters, arrivals, spread: true });
  expect(exitCode(result)).toBe(0);
  const broken = {
    ...result,
    limiters: result.limiters.map((one) => ({
      ...one,
      outcomes: Object.create(one.outcomes, {
        bounds: {
          value: one.outcomes.bounds.map(({ promise, peak, allowed }) => ({
            promise,
            peak,
            allowed,
            held: false,
          })),
        },
      }),
    })),
  };
  expect(exitCode(broken)).toBe(2);
  expect(renderSummary(broken, PLAIN).join('\n')).toMatch(/✘ leaky-bucket rate=10: .*, BROKEN/);
});

it('nobody sleeps on the clock of a simulation, and no other thread has it', () => {
  const clock = new SimulatedClock();
  clock.nowUs = 5;
  expect(clock.now()).toBe(5);
  expect(() => clock.sleep()).toThrow('nobody sleeps');
  expect(() => clock.sleepSync()).toThrow('nobody sleeps');
  expect(() => clock.handle).toThrow('stays in its thread');
});
