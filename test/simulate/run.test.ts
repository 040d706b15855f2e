import { describe, expect, it } from 'vitest';
import { exitCode } from '../../src/cli/simulate/outcome.ts';
import { renderSummary } from '../../src/cli/simulate/summary.ts';
import { PLAIN } from '../../src/cli/terminal.ts';
import type { Limiter } from '../../src/index.ts';
import { randomNumbers } from '../../src/load/plan/random.ts';
import { SimulatedClock } from '../../src/simulate/callers.ts';
import { parseLimiter } from '../../src/simulate/limiter-specs.ts';
import { parsePattern } from '../../src/simulate/patterns.ts';
import { runSimulation } from '../../src/simulate/run.ts';
import { SEED } from '../support/random.ts';

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

function limiterOf(text: string, clock = new SimulatedClock()): Limiter {
  const limiter = parseLimiter(text).create(clock);
  if (limiter === undefined) throw new Error('there is a limiter');
  return limiter;
}

/** How many calls a new limiter admits at instant 0, at most 1,000. */
function admittedAtOnce(text: string): number {
  const limiter = limiterOf(text);
  let admitted = 0;
  while (admitted < 1_000 && limiter.tryConsume()) admitted += 1;
  return admitted;
}

describe('parseLimiter', () => {
  it.each([
    ['token-bucket rate=100 burst=20', 20],
    ['  token-bucket   burst=20  rate=6000/minute ', 20],
    ['token-bucket rate=100 burst=20 initial=5', 5],
    ['token-bucket quantum=5 fillIntervalMs=100 burst=10', 10],
    ['leaky-bucket rate=100 slack=3', 1],
    ['fixed-window limit=7 intervalMs=1000', 7],
    ['sliding-window limit=8 intervalMs=1000 slots=4', 8],
    ['sliding-log limit=9 intervalMs=1000', 9],
    ['sliding-log limit=9 intervalMs=1000 + token-bucket rate=1 burst=4', 4],
  ])('%j is a limiter that admits %d at once', (text, admitted) => {
    expect(admittedAtOnce(text)).toBe(admitted);
  });

  it('reads a rate in the unit given', () => {
    const clock = new SimulatedClock();
    const limiter = limiterOf('leaky-bucket rate=60/minute', clock);
    expect(limiter.tryConsume()).toBe(true);
    expect(limiter.timeUntil(1)).toBe(1_000);
  });

  it.each([
    ['', /begin with one of token-bucket, leaky-bucket, .*got ""/],
    ['bucket rate=1', /begin with one of .*got "bucket"/],
    ['constructor rate=1', /begin with one of .*got "constructor"/],
    [
      'token-bucket rate=1',
      /must be token-bucket rate=\.\.\. burst=\.\.\. \[initial=\.\.\.\], or .*got/,
    ],
    ['token-bucket rate=1 burst=1 size=3', /got "size=3"/],
    ['token-bucket rate=1 burst', /burst must be a number.*got ""/],
    ['token-bucket rate=1 quantum=1 fillIntervalMs=1 burst=1', /must be token-bucket rate/],
    ['token-bucket rate=1 rate=2 burst=1', /rate must be given only once/],
    [
      'token-bucket rate=fast burst=1',
      /rate must be a number, such as 100 or 6000\/minute, got "fast"/,
    ],
    ['token-bucket rate=1/fortnight burst=1', /rate must be a number/],
    ['token-bucket rate=1e400 burst=1', /rate must be a number.*got "1e400"/],
    ['token-bucket rate=-1 burst=1', /rate must be a number at least .*got -1/],
    ['sliding-log limit=1.5 intervalMs=1', /limit must be an integer.*got 1\.5/],
    ['sliding-log limit=1 intervalMs=1 + ', /begin with one of .*got ""/],
  ])('%j is refused, with the reason', (text, reason) => {
    expect(() => parseLimiter(text)).toThrow(RangeError);
    expect(() => parseLimiter(text)).toThrow(reason);
  });
});

/** Copies each batch, because the next one reuses its memory. */
function arrivalsMs(text: string, lengthMs: number, seed: number): number[] {
  const instants: number[] = [];
  for (const batch of parsePattern(text).arrivals(lengthMs * 1_000, randomNumbers(seed))) {
    instants.push(...Array.from(batch, (us) => us / 1_000));
  }
  return instants;
}

describe('a pattern of arrivals', () => {
  it.each([
    ['constant rate=1000', 5, [0, 1, 2, 3, 4]],
    ['constant rate=120/minute', 1_001, [0, 500, 1_000]],
    ['bursts size=2 everyMs=10', 25, [0, 0, 10, 10, 20, 20]],
    ['bursts size=2 everyMs=10 overMs=4', 15, [0, 2, 10, 12]],
    ['constant rate=100 + bursts size=2 everyMs=15', 31, [0, 0, 0, 10, 15, 15, 20, 30, 30, 30]],
    ['bursts size=3 everyMs=10', 0, []],
  ])('%j for %d ms comes at %j', (text, lengthMs, instants) => {
    expect(arrivalsMs(text, lengthMs, 1)).toEqual(instants);
  });

  it('does not drift: the millionth constant arrival is exact', () => {
    const instants = arrivalsMs('constant rate=3000', 400_000, 1);
    expect(instants.length).toBe(1_200_000);
    expect(instants[999_999]).toBeCloseTo(999_999 / 3, 6);
  });

  it('is the same for the same seed, and differs for another', () => {
    const text = 'poisson rate=1000';
    expect(arrivalsMs(text, 100, 7)).toEqual(arrivalsMs(text, 100, 7));
    expect(arrivalsMs(text, 100, 8)).not.toEqual(arrivalsMs(text, 100, 7));
    expect(parsePattern(text).isRandom).toBe(true);
    expect(parsePattern('constant rate=1').isRandom).toBe(false);
  });

  it(`poisson has the rate, and the variance, of a Poisson process (seed ${SEED})`, () => {
    const counts = new Array<number>(10_000).fill(0);
    for (const ms of arrivalsMs('poisson rate=10000', 100_000, SEED)) {
      counts[Math.floor(ms / 10)] = (counts[Math.floor(ms / 10)] ?? 0) + 1;
    }
    const mean = counts.reduce((sum, count) => sum + count) / counts.length;
    const variance =
      counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / (counts.length - 1);
    // 100 in each 10 ms: seven standard errors of the mean and of the variance.
    expect(Math.abs(mean - 100)).toBeLessThan(7 * 0.1);
    expect(Math.abs(variance - 100)).toBeLessThan(7 * Math.SQRT2);
  });

  it.each([
    ['steady rate=1', /begin with one of constant, poisson, bursts/],
    ['poisson', /must be poisson rate=/],
    ['poisson rate=0', /rate must be a number at least .*got 0/],
    ['bursts size=1.5 everyMs=10', /size must be an integer.*got 1\.5/],
    ['bursts size=1 everyMs=10 overMs=11', /overMs must be .*at most 10, got 11/],
  ])('%j is refused, with the reason', (text, reason) => {
    expect(() => parsePattern(text)).toThrow(RangeError);
    expect(() => parsePattern(text)).toThrow(reason);
  });
});
