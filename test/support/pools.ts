import { Piscina } from 'piscina';
import { Tinypool } from 'tinypool';
import { onTestFinished } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import {
  type PoolOptions,
  type TaskLimiter,
  type ThrottledPool,
  type ThrottleOptions,
  throttle as throttlePiscina,
} from '../../src/integrations/piscina.ts';
import { throttle as throttleTinypool } from '../../src/integrations/tinypool.ts';
import type { PoolAnswer, PoolTask } from '../workers/pool-task.ts';
import { compiled } from './crew.ts';
import { Gate } from './gate.ts';

const REQUIRE_FLAG = '--experimental-require-module';
/**
 * Options for pool threads. In Node.js 20 and 22, terminating a thread while it requires an ES
 * module kills the whole process. A pool tries `require` first, so this makes it import its tasks.
 */
const EXEC_ARGV: string[] = process.allowedNodeEnvironmentFlags.has(REQUIRE_FLAG)
  ? [REQUIRE_FLAG.replace('--', '--no-')]
  : [];

const POOL = {
  filename: compiled('pool-task').href,
  execArgv: EXEC_ARGV,
  minThreads: 3,
  maxThreads: 3,
};

type Limits = TaskLimiter | PoolOptions<PoolTask>;

/** Pools of three threads of each package, and how they are throttled. */
export const POOLS = [
  {
    name: 'piscina',
    create: () => {
      const pool = new Piscina<PoolTask, PoolAnswer>(POOL);
      onTestFinished(() => pool.destroy());
      const throttle = (limits: Limits, options?: ThrottleOptions<PoolTask>) =>
        throttlePiscina(pool, limits, options);
      return { pool, throttle };
    },
  },
  {
    name: 'tinypool',
    create: () => {
      const pool = new Tinypool(POOL);
      onTestFinished(() => pool.destroy());
      const throttle = (limits: Limits, options?: ThrottleOptions<PoolTask>) =>
        throttleTinypool<PoolTask, PoolAnswer>(pool, limits, options);
      return { pool, throttle };
    },
  },
] as const;

/** A pool whose tasks run in this thread, as its function does. */
export function poolHere(maxThreads: number, run: () => Promise<unknown>): Tinypool {
  const options = { maxThreads, concurrentTasksPerWorker: 1 };
  return { run, destroy: async () => undefined, options, threads: [] } as unknown as Tinypool;
}

/** A throttled pool of real threads, whose limiter runs on a manual clock. */
export interface Scene {
  readonly clock: ManualClock;
  readonly bucket: TokenBucket;
  readonly pool: Piscina<PoolTask, PoolAnswer>;
  readonly paced: ThrottledPool<PoolTask, PoolAnswer>;
}

interface SceneOptions extends ThrottleOptions {
  readonly rate?: number;
  readonly burst?: number;
  readonly minThreads?: number;
  readonly idleTimeout?: number;
}

/** Four threads and 1000 tokens per second: one each millisecond. Ends with the test. */
export function throttledScene(options: SceneOptions = {}): Scene {
  const { rate = 1000, burst = 1, minThreads = 4, idleTimeout = 0, ...limits } = options;
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate, burst, clock });
  const pool = new Piscina<PoolTask, PoolAnswer>({
    ...POOL,
    minThreads,
    maxThreads: 4,
    idleTimeout,
    workerData: { limiter: bucket.handle },
  });
  onTestFinished(() => pool.destroy());
  return { clock, bucket, pool, paced: throttlePiscina(pool, bucket, limits) };
}

/** What a task is rejected with whose signal aborts it. */
export const ABORTED = { name: 'AbortError', message: 'The task has been aborted' };

/** A task that holds its thread until the given number, perhaps including the test, is at its gate. */
export function meeting(arrivals: number) {
  const gate = new Gate();
  const task = { does: 'meets', gate: gate.buffer, arrivals } as const;
  return { gate, task };
}
