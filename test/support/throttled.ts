import { Piscina } from 'piscina';
import { onTestFinished } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import {
  type ThrottledPool,
  type ThrottleOptions,
  throttle,
} from '../../src/integrations/piscina.ts';
import type { Started, ThrottledTask } from '../workers/throttled-task.ts';
import { compiled } from './crew.ts';

/** A throttled pool of real threads, whose limiter runs on a clock that the test moves. */
export interface Scene {
  readonly clock: ManualClock;
  readonly bucket: TokenBucket;
  readonly pool: Piscina<ThrottledTask, Started>;
  readonly paced: ThrottledPool<ThrottledTask, Started>;
}

const REQUIRE_FLAG = '--experimental-require-module';
/**
 * For the threads of a pool. On Node 20 and 22 one that is terminated while it requires an ES module
 * takes the whole process with it, and a pool requires its tasks first. So they are imported.
 */
export const EXEC_ARGV: string[] = process.allowedNodeEnvironmentFlags.has(REQUIRE_FLAG)
  ? [REQUIRE_FLAG.replace('--', '--no-')]
  : [];

interface SceneOptions extends ThrottleOptions {
  readonly rate?: number;
  readonly burst?: number;
  readonly minThreads?: number;
  readonly idleTimeout?: number;
}

/** Four threads; 1000 tokens a second, so that one comes each millisecond. Ends with the test. */
export function throttledScene(options: SceneOptions = {}): Scene {
  const { rate = 1000, burst = 1, minThreads = 4, idleTimeout = 0, ...limits } = options;
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate, burst, clock });
  const pool = new Piscina<ThrottledTask, Started>({
    filename: compiled('throttled-task').href,
    execArgv: EXEC_ARGV,
    minThreads,
    maxThreads: 4,
    idleTimeout,
    workerData: { limiter: bucket.handle },
  });
  onTestFinished(() => pool.destroy());
  return { clock, bucket, pool, paced: throttle(pool, bucket, limits) };
}

/** Lets the event loop turn until something is so. A test whose claim is wrong ends by its timeout. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}
