import { cpus } from 'node:os';

/** An event loop or processors busier than this have no time to spare. */
export const MOST_BUSY = 0.95;

/** A time that only grows, and the parts of it that were used, in milliseconds. */
export interface UsedTime<Part extends string> {
  readonly totalMs: number;
  readonly usedMs: Readonly<Record<Part, number>>;
}

/** Measures the use of a time, as shares from 0 to 1: since it began to, and over the last window. */
export class UseGauge<Part extends string> {
  readonly #read: () => UsedTime<Part>;
  readonly #windowMs: number;
  #begin: UsedTime<Part>;
  #window: UsedTime<Part>;
  #latest: Readonly<Record<Part, number>>;

  constructor(read: () => UsedTime<Part>, windowMs: number) {
    this.#read = read;
    this.#windowMs = windowMs;
    this.#begin = read();
    this.#window = this.#begin;
    this.#latest = useBetween(this.#begin, this.#begin);
  }

  /** Restarts the measurement. */
  begin(): void {
    this.#begin = this.#read();
    this.#window = this.#begin;
  }

  /** The use since {@link UseGauge.begin}. */
  get use(): Readonly<Record<Part, number>> {
    return useBetween(this.#begin, this.#read());
  }

  /** The use over the last complete window; none before its end. */
  get recent(): Readonly<Record<Part, number>> {
    const now = this.#read();
    if (now.totalMs - this.#window.totalMs >= this.#windowMs) {
      this.#latest = useBetween(this.#window, now);
      this.#window = now;
    }
    return this.#latest;
  }
}

function useBetween<Part extends string>(from: UsedTime<Part>, to: UsedTime<Part>) {
  const totalMs = to.totalMs - from.totalMs;
  const use: Record<Part, number> = { ...to.usedMs };
  for (const part of Object.keys(use) as Part[]) {
    const usedMs = to.usedMs[part] - from.usedMs[part];
    use[part] = totalMs <= 0 ? 0 : Math.min(1, Math.max(0, usedMs / totalMs));
  }
  return use;
}

/** Over shorter spans, one long task would count as a full event loop. */
const LOOP_WINDOW_MS = 100;

/**
 * Measures how busy this thread's event loop is. It counts blocking sleeps as work, the gauge does
 * not.
 *
 * @param sleptMs returns how long the pacer has slept so far
 */
export function loopGauge(sleptMs: () => number): UseGauge<'busy'> {
  return new UseGauge(() => {
    const { active, idle } = performance.eventLoopUtilization();
    return { totalMs: active + idle, usedMs: { busy: active - sleptMs() } };
  }, LOOP_WINDOW_MS);
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

/**
 * Measures how busy the processors of this machine are.
 *
 * @param othersMs returns the processor time of the processes that this one started
 */
export function cpuGauge(othersMs: () => number = () => 0): UseGauge<keyof ProcessorUse> {
  return new UseGauge(() => {
    let idleMs = 0;
    let totalMs = 0;
    for (const { times } of cpus()) {
      idleMs += times.idle;
      totalMs += times.idle + times.user + times.nice + times.sys + times.irq;
    }
    const { user, system } = process.cpuUsage();
    const own = (user + system) / 1_000 + othersMs();
    return { totalMs, usedMs: { machine: totalMs - idleMs, own } };
  }, CPU_WINDOW_MS);
}
