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
import { Gate } from './gate.ts';

/** A throttled pool of real threads, whose limiter runs on a manual clock. */
export interface Scene {
  readonly clock: ManualClock;
  readonly bucket: TokenBucket;
  readonly pool: Piscina<ThrottledTask, Started>;
  readonly paced: ThrottledPool<ThrottledTask, Started>;
}

const REQUIRE_FLAG = '--experimental-require-module';
/**
 * Options for pool threads. In Node.js 20 and 22, terminating a thread while it requires an ES
 * module kills the whole process. A pool tries `require` first, so this makes it import its tasks.
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

/** Four threads and 1000 tokens per second: one each millisecond. Ends with the test. */
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

/** What a task is rejected with whose signal aborts it. */
export const ABORTED = { name: 'AbortError', message: 'The task has been aborted' };

/** A task that holds its thread until the given number, perhaps including the test, is at its gate. */
export function meeting(arrivals: number) {
  const gate = new Gate();
  const task = { does: 'meets', gate: gate.buffer, arrivals } as const;
  return { gate, task };
}
