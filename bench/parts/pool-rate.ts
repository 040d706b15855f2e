import { Piscina } from 'piscina';
import { systemClock, TokenBucket } from '../../src/index.ts';
import { throttle } from '../../src/integrations/piscina.ts';
import type { Section } from '../report.ts';

const POOL = { minThreads: 2, maxThreads: 2, concurrentTasksPerWorker: 8 };
const TASKS = 100_000;
const RATE = 20_000;
const BURST = 10;

type Run = () => Promise<number>;

/** Tasks per second from when all of them are queued until the last one has started. */
async function rateOf(run: Run): Promise<{ perSecond: number; beyond: number }> {
  const tasks = Promise.all(Array.from({ length: TASKS }, run));
  const queuedUs = systemClock.now();
  const starts = Float64Array.from(await tasks).sort();
  const early = starts.findIndex((atUs) => atUs >= queuedUs);
  const lastUs = starts[TASKS - 1] ?? Number.NaN;
  return { perSecond: (TASKS - early) / ((lastUs - queuedUs) / 1e6), beyond: beyond(starts) };
}

/** By how many starts the densest interval exceeds burst + rate x t. */
function beyond(starts: Float64Array): number {
  let [most, fewest] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const [i, atUs] of starts.entries()) {
    const ahead = i - (RATE * atUs) / 1e6;
    fewest = Math.min(fewest, ahead);
    most = Math.max(most, ahead - fewest + 1);
  }
  return most - BURST;
}

/** A throttled pool of short tasks: whether it reaches a rate far above a timer's thousand. */
export async function benchPoolRate(): Promise<Section> {
  const filename = new URL('../workers/started.js', import.meta.url).href;
  const pool = new Piscina<undefined, number>({ ...POOL, filename });
  try {
    // Exclude the start of the threads from the measurement.
    await Promise.all(Array.from({ length: 1000 }, () => pool.run(undefined)));
    const limiter = TokenBucket.create({ rate: RATE, burst: BURST, initial: 0 });
    const paced = throttle(pool, limiter);
    const reached = await rateOf(() => paced.run(undefined));
    const alone = await rateOf(() => pool.run(undefined));
    const share = `${((100 * reached.perSecond) / RATE).toFixed(2)} %`;
    return {
      title: 'The rate of a throttled pool',
      text: `Piscina, 2 threads of 8 tasks at a time, ${TASKS} tasks queued at once, ${RATE} a second,
burst ${BURST}. Tasks per second in the threads, from when all are queued until the last one has
started, and the number of starts by which the densest interval exceeds burst + rate x t: these are
late starts.`,
      head: ['pool', 'tasks/s', 'of the rate', 'late starts'],
      rows: [
        ['throttled', reached.perSecond.toFixed(0), share, reached.beyond.toFixed(0)],
        ['alone', alone.perSecond.toFixed(0), '', ''],
      ],
      aims: [
        { measure: 'A throttled pool reaches its rate', measured: share, aim: 'at least 99 %' },
      ],
    };
  } finally {
    await pool.destroy();
  }
}
