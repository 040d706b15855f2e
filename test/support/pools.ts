import { Piscina } from 'piscina';
import { Tinypool } from 'tinypool';
import { onTestFinished } from 'vitest';
import {
  type PoolOptions,
  type TaskLimiter,
  type ThrottleOptions,
  throttle as throttlePiscina,
} from '../../src/integrations/piscina.ts';
import { throttle as throttleTinypool } from '../../src/integrations/tinypool.ts';
import type { PoolAnswer, PoolTask } from '../workers/pool-task.ts';
import { compiled } from './crew.ts';
import { EXEC_ARGV } from './throttled.ts';

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
