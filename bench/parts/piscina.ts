import { Piscina } from 'piscina';
import { LeakyBucket, systemClock, TokenBucket } from '../../src/index.ts';
import { type TaskLimiter, throttle } from '../../src/integrations/piscina.ts';
import { checkGuarantee } from '../../src/load/judge/guarantee.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';

const THREADS = 4;
const RATE = 500;

interface Limit {
  readonly name: string;
  readonly burst: number;
  /** Tokens at the start. */
  readonly initial: number;
  readonly create: () => TaskLimiter;
}

const LIMITS: readonly Limit[] = [
  {
    name: 'TokenBucket, burst 50, empty at first',
    burst: 50,
    initial: 0,
    create: () => TokenBucket.create({ rate: RATE, burst: 50, initial: 0 }),
  },
  {
    name: 'TokenBucket, burst 50',
    burst: 50,
    initial: 50,
    create: () => TokenBucket.create({ rate: RATE, burst: 50 }),
  },
  {
    name: 'LeakyBucket',
    burst: 1,
    initial: 1,
    create: () => LeakyBucket.create({ rate: RATE }),
  },
];

/** Submits all tasks at once; returns the instants at which threads started them. */
async function startsOf({ create }: Limit, tasks: number) {
  const pool = new Piscina<undefined, number>({
    filename: new URL('../workers/started.js', import.meta.url).href,
    minThreads: THREADS,
    maxThreads: THREADS,
  });
  try {
    // Exclude the start of the threads from the measurement.
    await Promise.all(Array.from({ length: 100 * THREADS }, () => pool.run(undefined)));
    const fromUs = systemClock.now();
    const paced = throttle(pool, create());
    const starts = await Promise.all(Array.from({ length: tasks }, () => paced.run(undefined)));
    return { fromUs, starts: Float64Array.from(starts).sort() };
  } finally {
    await pool.destroy();
  }
}

async function rowOf(limit: Limit, tasks: number): Promise<string[]> {
  const { fromUs, starts } = await startsOf(limit, tasks);
  const { tightest } = checkGuarantee(starts, RATE, limit.burst);
  if (starts.length !== tasks || tightest === null) throw new Error('tasks were lost');
  const seconds = ((starts[tasks - 1] ?? Number.NaN) - fromUs) / 1e6;
  const exact = (tasks - limit.initial) / RATE;
  const beyond = tightest.admitted - tightest.allowed;
  return [
    limit.name,
    String(tasks),
    seconds.toFixed(3),
    exact.toFixed(3),
    `${((100 * (seconds - exact)) / exact).toFixed(2)} %`,
    beyond > 0 ? `no: ${beyond.toFixed(2)} tasks more` : `yes: ${(-beyond).toFixed(2)} to spare`,
  ];
}

/** A throttled pool: the duration of many tasks, and when their threads started them. */
export async function benchPiscina({ pacingMs }: Settings): Promise<Section> {
  const tasks = (RATE * 2 * pacingMs) / 1000;
  const rows: string[][] = [];
  for (const limit of LIMITS) rows.push(await rowOf(limit, tasks));
  return {
    title: 'A throttled pool',
    text: `Piscina, ${THREADS} threads, throttled to ${RATE} tasks a second. Measured by the instants at which
the threads began their tasks: whether every interval of t seconds held at most burst + rate x t,
and the margin in the tightest. The tokens always keep to the bound; a thread that begins a task late
moves it closer to the next ones.`,
    head: ['limiter', 'tasks', 'seconds', 'by the schedule', 'off by', 'burst + rate x t held'],
    rows,
    aims: rows.slice(0, 1).map(([name = '', , , , offBy = '', held = '']) => ({
      measure: `${tasks} tasks, ${name}: time, and the bound`,
      measured: `${offBy}; ${held}`,
      aim: '0.5 %; held',
    })),
  };
}
