import { describe, expect, it } from 'vitest';
import { checkDriveOptions } from '../../../src/load/api/check-options.ts';
import type { DriveArrivals, DriveOptions } from '../../../src/load/plan/drive-options.ts';
import { drive } from '../../../src/load.ts';

const task = 'data:text/javascript,export default () => {}';

/** The terms of a run that follow from its arrivals. */
function terms(arrivals: DriveArrivals | undefined, options: DriveOptions = { rate: 10 }) {
  const plan = checkDriveOptions({ task, ...options, ...(arrivals && { arrivals }) });
  const { rate, durationMs, arrivals: checked } = plan;
  return { rate, durationMs, arrivals: checked };
}

describe('the arrivals of drive', () => {
  it('are even unless given', () => {
    const even = { rate: 10, durationMs: 10_000, arrivals: undefined };
    expect(terms(undefined)).toEqual(even);
    expect(terms({ kind: 'even' })).toEqual(even);
  });

  it('are at random with the seed given, or one of their own', () => {
    expect(terms({ kind: 'poisson', seed: 7 })).toEqual({
      rate: 10,
      durationMs: 10_000,
      arrivals: { kind: 'poisson', seed: 7 },
    });
    const seeds = new Set<unknown>();
    // A few equal draws of 2^32 would not matter; equal for ever they would.
    for (let tries = 0; seeds.size < 2 && tries < 1_000; tries++) {
      const { arrivals } = terms({ kind: 'poisson' });
      seeds.add(arrivals?.kind === 'poisson' ? arrivals.seed : undefined);
    }
    expect(seeds.size).toBe(2);
    expect([...seeds].every((seed) => Number.isInteger(seed))).toBe(true);
    const ramp = { from: 1, to: 5, overMs: 100 };
    expect(terms({ kind: 'poisson', seed: 1 }, { ramp })).toMatchObject({ rate: 5 });
  });

  it('are those of a list, which says the rate and, unless given, the length', () => {
    const instantsMs = [0, 250.5, 250.5, 999.25];
    expect(terms({ kind: 'listed', instantsMs }, {})).toEqual({
      rate: 4,
      durationMs: 1_000,
      arrivals: {
        kind: 'listed',
        instantsUs: Float64Array.of(0, 250_500, 250_500, 999_250),
      },
    });
    const list = Float64Array.from(instantsMs);
    expect(terms({ kind: 'listed', instantsMs }, { warmupMs: 0 }).arrivals).toMatchObject({
      kind: 'listed',
    });
    const longer = terms({ kind: 'listed', instantsMs: list }, { durationMs: 2_000 });
    expect(longer).toMatchObject({ rate: 2, durationMs: 2_000 });
    const shorter = terms({ kind: 'listed', instantsMs: list }, { durationMs: 500 });
    expect(shorter).toMatchObject({
      rate: 6,
      durationMs: 500,
      arrivals: { instantsUs: Float64Array.of(0, 250_500, 250_500) },
    });
  });

  it.each<[unknown, string]>([
    [{ rate: 1, arrivals: 'poisson' }, "arrivals.kind must be 'even', 'poisson' or 'listed', got"],
    [{ rate: 1, arrivals: null }, "arrivals.kind must be 'even', 'poisson' or 'listed', got und"],
    [{ rate: 1, arrivals: { kind: 'random' } }, 'got "random"'],
    [{ rate: 1, arrivals: { kind: 'even', seed: 1 } }, 'arrivals has no option "seed"'],
    [{ rate: 1, arrivals: { kind: 'poisson', seeds: 1 } }, 'did you mean seed?'],
    [{ rate: 1, arrivals: { kind: 'poisson', seed: 0.5 } }, 'arrivals.seed must be an integer'],
    [{ rate: 1, arrivals: { kind: 'poisson', seed: 2 ** 32 } }, 'at most 4294967295'],
    [
      { rate: 1, burst: 2, arrivals: { kind: 'poisson' } },
      "burst cannot be used with arrivals.kind 'poisson': instants are fixed",
    ],
    [{ arrivals: { kind: 'poisson' } }, 'rate must be a number at least 0.001'],
    [
      { rate: 1, arrivals: { kind: 'listed', instantsMs: [1] } },
      "rate cannot be used with arrivals.kind 'listed': instants are fixed",
    ],
    [{ warmupMs: 1, arrivals: { kind: 'listed', instantsMs: [1] } }, 'warmupMs cannot be used'],
    [{ arrivals: { kind: 'listed' } }, 'arrivals.instantsMs must be an array of numbers or a Fl'],
    [{ arrivals: { kind: 'listed', instantMs: [1] } }, 'did you mean instantsMs?'],
    [
      { arrivals: { kind: 'listed', instantsMs: [2, 1] } },
      'arrivals.instantsMs[1] must be a number at least 2 and at most 86400000, got 1',
    ],
    [{ arrivals: { kind: 'listed', instantsMs: [-1] } }, 'arrivals.instantsMs[0] must be'],
    [{ arrivals: { kind: 'listed', instantsMs: ['1'] } }, 'arrivals.instantsMs[0] must be'],
    [
      { arrivals: { kind: 'listed', instantsMs: [] } },
      'arrivals.instantsMs must have an instant before the end of the run',
    ],
    [
      { durationMs: 5, arrivals: { kind: 'listed', instantsMs: [5] } },
      'arrivals.instantsMs must have an instant before the end of the run',
    ],
    [{ durationMs: 0, arrivals: { kind: 'listed', instantsMs: [5] } }, 'durationMs must be'],
    [
      { rate: Number.POSITIVE_INFINITY, arrivals: { kind: 'even' } },
      'arrivals needs a finite rate, got Infinity',
    ],
  ])('%o: %s', (options, message) => {
    const given = { task, ...(options as DriveOptions) }; // wrong on purpose
    expect(() => checkDriveOptions(given)).toThrow(message);
  });
});

/** A busy machine may miss the rate. */
const gates: DriveOptions['gates'] = [{ kind: 'rate', minShare: 0 }];

describe.concurrent('drive', () => {
  it('makes each call of a list at its own instant', async () => {
    const instantsMs = [0, 0, 30, 200];
    const options: DriveOptions = {
      task,
      gates,
      threads: 2,
      arrivals: { kind: 'listed', instantsMs },
    };
    let result = await drive(options);
    // A busy machine may hold up both threads for so long that slots are lost.
    for (let tries = 0; result.admitted < 4 && tries < 50; tries++) result = await drive(options);
    expect(result.arrivals).toEqual({ kind: 'listed', count: 4 });
    expect(result.guarantee).toMatchObject({ held: true });
    expect(result.admittedPer100Ms.slice(0, 3)).toEqual([3, 0, 1]);
    expect(result.calls).toEqual({ sent: 4, succeeded: 4, failed: 0 });
  });

  it('says which seed repeats its arrivals', async () => {
    const options = { task, gates, rate: 100, durationMs: 200 };
    const [random, seeded] = await Promise.all([
      drive({ ...options, arrivals: { kind: 'poisson' } }),
      drive({ ...options, arrivals: { kind: 'poisson', seed: 3 } }),
    ]);
    expect(random.arrivals).toEqual({ kind: 'poisson', seed: expect.any(Number) });
    expect(seeded.arrivals).toEqual({ kind: 'poisson', seed: 3 });
    expect(seeded.guarantee?.held).toBe(true);
    expect(random.admitted).toBeLessThanOrEqual(20);
  });
});
