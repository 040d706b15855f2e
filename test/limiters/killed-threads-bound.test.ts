import { expect, test } from 'vitest';
import { ChangedLimits, SEVERAL } from '../support/changed-limits.ts';
import { Crew } from '../support/crew.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { part, Random, SEED } from '../support/random.ts';
import { SpendLog } from '../support/spend-times.ts';

// Threads that take tokens on the system clock and are killed, also inside changes of the limits,
// while another thread changes them. A call counts only in intervals that contain it as a whole, so
// no reading of the clock is doubtful except its digits. The soak plays this for longer.

const THREADS = 4;
const ENTRIES = 100_000;
// In each case; ZEROTIME_SHARE=5 makes it 300 kills and 1,000 changes.
const KILLS = part(60, 6);
const CHANGES = part(200, 30);

const CASES = Object.entries(SEVERAL).flatMap(([name, make]) =>
  KERNEL_MIXES.map(({ mix, kernels }) => ({ name, make, mix, kernels })),
);

// docs/keys.md: "A change never admits more than the limits before and after it allow"
test.each(CASES)(
  `a $name keeps each limit in every interval while ${KILLS} of its threads are killed and its limits change ${CHANGES} times: $mix (ZEROTIME_SEED=${SEED})`,
  { timeout: 600_000 },
  async ({ make, kernels }) => {
    const random = new Random(SEED);
    const limiter = make({});
    const { handle } = limiter;
    const limits = new ChangedLimits(limiter);
    const buffer = SpendLog.create(THREADS, ENTRIES);
    const lanes = Array.from({ length: THREADS }, (_, lane) => new SpendLog(buffer, lane));
    const start = async (lane: number) => {
      const crew = await Crew.of('takers', 'takeAndLog', 1);
      const done = crew.run({ handle, kernels, log: buffer, lane });
      return { crew, done };
    };
    const factor = () => random.pick([1, 1, 2, 0.5, 0.1, 0]);
    const threads = await Promise.all(lanes.map((_, lane) => start(lane)));
    let changed = 0;
    for (let kills = 1; kills <= KILLS; kills++) {
      for (; changed < (kills * CHANGES) / KILLS; changed++) {
        limits.change([factor(), factor(), factor()]);
        await new Promise((resolve) => setTimeout(resolve, random.below(4)));
      }
      const lane = random.below(THREADS);
      await threads[lane]?.crew.workers[0]?.terminate();
      threads[lane] = await start(lane);
    }
    lanes[0]?.end();
    // Ends the pause, if there is one, so that all waiting threads go on.
    limits.change([1, 1, 1]);
    await Promise.all(threads.map(({ done }) => done));

    const spent = lanes.flatMap((lane) => lane.read());
    expect(spent.length).toBeGreaterThan(10 * KILLS);
    for (const { beyond } of limits.excesses(spent)) expect(beyond).toBeGreaterThan(1);
    expect(limits.broken(spent)).toBe('');
  },
);
