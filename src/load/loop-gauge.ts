import { WindowedGauge } from './windowed-gauge.ts';

/** Over shorter spans, one long task would count as a full event loop. */
const WINDOW_MS = 100;
/** A busier loop has no time left. */
const FULL = 0.95;

/** Cumulative times of an event loop, in milliseconds since the thread started. */
interface LoopTimes {
  /** Includes blocking sleeps, which the event loop counts as work. */
  readonly activeMs: number;
  readonly idleMs: number;
  readonly sleptMs: number;
}

/** Measures the share of time for which this thread's event loop is busy, without the pacer's sleeps. */
export class LoopGauge extends WindowedGauge<LoopTimes, number> {
  /** @param sleptMs returns how long the pacer has slept so far */
  static ofThisThread(sleptMs: () => number): LoopGauge {
    return new LoopGauge(() => {
      const { active, idle } = performance.eventLoopUtilization();
      return { activeMs: active, idleMs: idle, sleptMs: sleptMs() };
    });
  }

  constructor(read: () => LoopTimes) {
    super({ read, lengthMs, use: busyBetween }, WINDOW_MS, 0);
  }

  /** Whether the loop had no time left in the last complete window of 100 ms. */
  get isFull(): boolean {
    return this.recent > FULL;
  }
}

function lengthMs(from: LoopTimes, to: LoopTimes): number {
  return to.activeMs - from.activeMs + to.idleMs - from.idleMs;
}

function busyBetween(from: LoopTimes, to: LoopTimes): number {
  const length = lengthMs(from, to);
  const busyMs = to.activeMs - from.activeMs - (to.sleptMs - from.sleptMs);
  return length <= 0 ? 0 : Math.min(1, Math.max(0, busyMs / length));
}
