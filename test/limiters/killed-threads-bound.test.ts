import { expect, test } from 'vitest';
import { KeyedLimitSet, LimitSet, systemClock } from '../../src/index.ts';
import { mostBeyond, type RateChange } from '../oracle/bound.ts';
import { Crew } from '../support/crew.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { part, Random, SEED } from '../support/random.ts';
import { SpendLog } from '../support/spend-times.ts';
import type { TakerJob } from '../workers/timed-taker.ts';

// Threads that take tokens on the system clock and are killed, also inside changes of the limits,
// while another thread changes them. A call counts only in intervals that contain it as a whole, so
// no reading of the clock is doubtful except its digits.

const THREADS = 4;
// In each of six cases; ZEROTIME_SHARE=3 makes it 300 kills and 1,000 changes.
const KILLS = part(100, 8);
const CHANGES = part(334, 40);
/** In tokens: readings have fractions of a microsecond, and changes round to ticks. */
const TOLERANCE = 0.01;

const LIMITS = [
  { rate: 2000, burst: 20 },
  { rate: 1000, burst: 60 },
  { rate: 5000, burst: 10 },
];
const KINDS = {
  LimitSet: () => LimitSet.create({ limits: LIMITS, stats: true }),
  'key of a KeyedLimitSet': () =>
    KeyedLimitSet.create({ limits: LIMITS, capacity: 16, stats: true }),
};
const CASES = Object.entries(KINDS).flatMap(([name, make]) =>
  KERNEL_MIXES.map(({ mix, kernels }) => ({ name, make, mix, kernels })),
);

test.each(CASES)(
  `a $name keeps each limit in every interval while ${KILLS} of its threads are killed and its limits change ${CHANGES} times: $mix (ZEROTIME_SEED=${SEED})`,
  { timeout: 600_000 },
  async ({ make, kernels }) => {
    const random = new Random(SEED);
    const limiter = make();
    const buffer = SpendLog.create();
    const lanes = Array.from({ length: THREADS }, (_, lane) => new SpendLog(buffer, lane));
    const { handle } = limiter;
    const start = async (lane: number) => {
      const crew = await Crew.start<TakerJob, void>('timed-taker', 1);
      const done = crew.run({ handle, kernels, log: buffer, lane, limits: LIMITS.length });
      return { crew, done };
    };
    const startUs = systemClock.now() - 1e6;
    const changes = LIMITS.map(({ rate }): RateChange[] => [{ atUs: startUs, rate }]);
    const change = (factors: readonly [number, ...number[]]) => {
      const rates = LIMITS.map(({ rate }) => rate * random.pick(factors));
      const atUs = systemClock.now();
      limiter.reconfigure({ limits: rates.map((rate) => ({ rate })) });
      const untilUs = systemClock.now();
      for (const [i, rate] of rates.entries()) changes[i]?.push({ atUs, untilUs, rate });
    };
    const threads = await Promise.all(lanes.map((_, lane) => start(lane)));
    let changed = 0;
    for (let kills = 1; kills <= KILLS; kills++) {
      for (; changed < (kills * CHANGES) / KILLS; changed++) {
        change([1, 1, 2, 0.5, 0.1, 0]);
        await new Promise((resolve) => setTimeout(resolve, random.below(4)));
      }
      const lane = random.below(THREADS);
      await threads[lane]?.crew.workers[0]?.terminate();
      threads[lane] = await start(lane);
    }
    lanes[0]?.end();
    // Ends the pause, if there is one, so that all waiting threads go on.
    change([1]);
    await Promise.all(threads.map(({ done }) => done));

    const spent = lanes.flatMap((lane) => lane.read());
    expect(spent.length).toBeGreaterThan(10 * KILLS);
    for (const [i, { burst }] of LIMITS.entries()) {
      const { beyond, text } = mostBeyond(spent, changes[i] ?? []);
      expect(beyond, `limit ${i}: ${text}`).toBeLessThanOrEqual(burst + TOLERANCE);
      expect(beyond, `limit ${i}: was used`).toBeGreaterThan(1);
    }
  },
);
