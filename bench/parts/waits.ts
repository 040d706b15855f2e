import { systemClock } from '../../src/index.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import { durations, shownPercentiles } from '../spread.ts';

const WAITS_US: readonly number[] = [10, 100, 1_000, 10_000];
const MOST_SAMPLES = 5_000;
const FEWEST_SAMPLES = 10;

/** One way to wait for an instant: the sleep inside `wait` or `waitSync`. */
interface Way {
  readonly name: string;
  readonly sleep: (untilUs: number) => Promise<void> | void;
}

const WAYS: readonly Way[] = [
  { name: 'wait', sleep: (untilUs) => systemClock.sleep(untilUs) },
  { name: 'wait, strict', sleep: (untilUs) => systemClock.sleep(untilUs, { strict: true }) },
  { name: 'waitSync', sleep: (untilUs) => systemClock.sleepSync(untilUs) },
  {
    name: 'waitSync, strict',
    sleep: (untilUs) => systemClock.sleepSync(untilUs, { strict: true }),
  },
];

async function measureWay({ name, sleep }: Way, waitUs: number, ms: number): Promise<string[]> {
  const lateness = durations();
  const endUs = systemClock.now() + ms * 1000;
  let nowUs = systemClock.now();
  while (
    lateness.totalCount < FEWEST_SAMPLES ||
    (lateness.totalCount < MOST_SAMPLES && nowUs < endUs)
  ) {
    const dueUs = nowUs + waitUs;
    const slept = sleep(dueUs);
    if (slept !== undefined) await slept;
    nowUs = systemClock.now();
    if (nowUs < dueUs) throw new Error(`${name} woke ${dueUs - nowUs} us early`);
    lateness.recordValue(Math.round((nowUs - dueUs) * 1000));
  }
  return [`${waitUs}`, name, ...shownPercentiles(lateness, 1000, 1)];
}

/** How late a waiter wakes. */
export async function benchWaits(settings: Settings): Promise<Section> {
  const rows: string[][] = [];
  for (const waitUs of WAITS_US) {
    for (const way of WAYS) rows.push(await measureWay(way, waitUs, settings.waitsMs));
  }
  return {
    title: 'Waits',
    text: `Microseconds from the instant at which a wait was due until the caller continued. On a busy machine,
a thread that has lost its time slice wakes late, however it waits, which shows from p99 up.

- The timer thread wakes \`wait\`, up to 250 times a second over time. Here waits follow each other
  without a pause, so longer ones end by timers of whole milliseconds, and shorter ones take 0.4 ms.
  [Pacing](#pacing) has waits with pauses.
- \`wait\` with \`strict\` sleeps until 0.15 ms before the instant, and then checks the clock between
  turns of the event loop.
- \`waitSync\` is late by the overshoot of \`Atomics.wait\`; with \`strict\` it spins through the
  last 0.05 ms.`,
    head: ['wait, us', 'way', 'p50', 'p99', 'max', 'samples'],
    rows,
  };
}
