import { expect, it } from 'vitest';
import { exitCode } from '../../src/cli/simulate/outcome.ts';
import { renderSummary } from '../../src/cli/simulate/summary.ts';
import { PLAIN } from '../../src/cli/terminal.ts';
import { parseLimiter } from '../../src/simulate/limiter-specs.ts';
import { parsePattern } from '../../src/simulate/patterns.ts';
import { runSimulation } from '../../src/simulate/run.ts';
import { SimulatedClock } from '../../src/simulate/simulated-clock.ts';

const limiters = [parseLimiter('leaky-bucket rate=10')];

it('simulates a minute by default, from a seed that it reports', async () => {
  const arrivals = parsePattern('poisson rate=5');
  const first = await runSimulation({ limiters, arrivals, spread: true });
  expect(first.durationMs).toBe(60_000);
  const { seed } = first.source;
  if (seed === undefined) throw new Error('no seed');
  const again = await runSimulation({ limiters, arrivals, spread: true, seed });
  expect(again.arrivals.counts).toEqual(first.arrivals.counts);
});

it.each(['constant rate=500', 'poisson rate=500', 'bursts size=50 everyMs=100 + constant rate=9'])(
  '%s reports how much of it is simulated',
  async (text) => {
    const shares: number[] = [];
    await runSimulation({
      limiters,
      arrivals: parsePattern(text),
      spread: true,
      seed: 1,
      onProgress: (share) => shares.push(share),
    });
    expect(shares.length).toBeGreaterThan(5);
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(shares.at(-1)).toBeGreaterThan(0.98);
  },
);

it('rejects a simulation without arrivals or a file', async () => {
  await expect(runSimulation({ limiters, spread: true })).rejects.toThrow(TypeError);
});

it('a broken bound is reported, with exit code 2', async () => {
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

it('no caller sleeps on a simulated clock, and no other thread can attach it', () => {
  const clock = new SimulatedClock();
  clock.nowUs = 5;
  expect(clock.now()).toBe(5);
  expect(() => clock.sleep()).toThrow('cannot sleep');
  expect(() => clock.sleepSync()).toThrow('cannot sleep');
  expect(() => clock.handle).toThrow('cannot be shared');
});
