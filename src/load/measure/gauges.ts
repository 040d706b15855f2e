import { cpus } from 'node:os';

/** Measures the use of something: since it began to, and over the last window. */
abstract class WindowedGauge<Times, Use> {
  /** Reads times that only grow. */
  readonly #read: () => Times;
  readonly #windowMs: number;
  #begin: Times;
  #window: Times;
  #latest: Use;

  /** @param latest the use before the end of the first window */
  constructor(read: () => Times, windowMs: number, latest: Use) {
    this.#read = read;
    this.#windowMs = windowMs;
    this.#begin = read();
    this.#window = this.#begin;
    this.#latest = latest;
  }

  protected abstract lengthMs(from: Times, to: Times): number;
  protected abstract useBetween(from: Times, to: Times): Use;

  /** Restarts the measurement. */
  begin(): void {
    this.#begin = this.#read();
    this.#window = this.#begin;
  }

  /** The use since {@link WindowedGauge.begin}. */
  get use(): Use {
    return this.useBetween(this.#begin, this.#read());
  }

  /** The use over the last complete window. */
  get recent(): Use {
    const now = this.#read();
    if (this.lengthMs(this.#window, now) >= this.#windowMs) {
      this.#latest = this.useBetween(this.#window, now);
      this.#window = now;
    }
    return this.#latest;
  }
}

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
    super(read, WINDOW_MS, 0);
  }

  protected lengthMs(from: LoopTimes, to: LoopTimes): number {
    return to.activeMs - from.activeMs + to.idleMs - from.idleMs;
  }

  protected useBetween(from: LoopTimes, to: LoopTimes): number {
    const length = this.lengthMs(from, to);
    const busyMs = to.activeMs - from.activeMs - (to.sleptMs - from.sleptMs);
    return length <= 0 ? 0 : Math.min(1, Math.max(0, busyMs / length));
  }

  /** Whether the loop had no time left in the last complete window of 100 ms. */
  get isFull(): boolean {
    return this.recent > FULL;
  }
}

/** Cumulative processor times, in milliseconds. */
interface CpuTimes {
  readonly idleMs: number;
  readonly totalMs: number;
  /** Used by this process and the ones it started, all threads included. */
  readonly ownMs: number;
}

/** Processor use during a run, as shares of all processors. */
export interface ProcessorUse {
  /** Use by all processes of the machine, from 0 to 1. */
  readonly machine: number;
  /** Use by this process and those that it started, from 0 to 1. */
  readonly own: number;
}

/** The operating system counts in steps of 10 ms: over less than this, the share is noise. */
const CPU_WINDOW_MS = 200;

/** Measures how busy the processors of this machine are. */
export class CpuGauge extends WindowedGauge<CpuTimes, ProcessorUse> {
  constructor(read: () => CpuTimes = () => readTimes()) {
    super(read, CPU_WINDOW_MS, { machine: 0, own: 0 });
  }

  protected lengthMs(from: CpuTimes, to: CpuTimes): number {
    return to.totalMs - from.totalMs;
  }

  protected useBetween(from: CpuTimes, to: CpuTimes): ProcessorUse {
    const totalMs = this.lengthMs(from, to);
    if (totalMs <= 0) return { machine: 0, own: 0 };
    const share = (ms: number) => Math.min(1, Math.max(0, ms / totalMs));
    return {
      machine: 1 - share(to.idleMs - from.idleMs),
      own: share(to.ownMs - from.ownMs),
    };
  }
}

/** @param othersMs processor time of the processes that this one started */
export function readTimes(othersMs = 0): CpuTimes {
  let idleMs = 0;
  let totalMs = 0;
  for (const { times } of cpus()) {
    idleMs += times.idle;
    totalMs += times.idle + times.user + times.nice + times.sys + times.irq;
  }
  const { user, system } = process.cpuUsage();
  return { idleMs, totalMs, ownMs: (user + system) / 1_000 + othersMs };
}
