import { timers } from '../memory/timers.ts';
import type { BlockingSleepOptions, Clock, ClockHandle, SleepOptions } from './clock.ts';
import { sleep, sleepSync } from './sleep.ts';

/**
 * Reads the monotonic clock. In Node, `process.hrtime()` is cheapest and has one origin for all
 * threads. Elsewhere `performance.now()` starts at 0 in each worker, so its origin is added.
 */
function monotonic(): () => number {
  const hrtime = globalThis.process?.hrtime;
  if (hrtime === undefined) return () => (performance.timeOrigin + timers.nowMs()) * 1000;
  return () => {
    const time = hrtime();
    return time[0] * 1e6 + time[1] / 1e3;
  };
}

class SystemClock implements Clock {
  readonly name = 'system';
  readonly handle: ClockHandle = { name: 'system' };
  readonly now = monotonic();

  sleep(untilUs: number, options?: SleepOptions): Promise<void> {
    return sleep(this.now, untilUs, options);
  }

  sleepSync(untilUs: number, options?: BlockingSleepOptions): void {
    sleepSync(this.now, untilUs, options);
  }
}

/**
 * The system's monotonic clock, the default. It has the same origin in all threads of the process.
 */
export const systemClock: Clock = new SystemClock();
