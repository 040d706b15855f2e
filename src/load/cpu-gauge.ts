import { cpus } from 'node:os';

/** Cumulative processor times, in milliseconds. */
interface CpuTimes {
  readonly idleMs: number;
  readonly totalMs: number;
  /** Used by this process and the ones it started, all threads included. */
  readonly ownMs: number;
}

/** How busy the processors were. */
export interface CpuUse {
  /** The share of all processors in use by anyone, from 0 to 1. */
  readonly machine: number;
  /** The share of all processors that this client used, from 0 to 1. */
  readonly own: number;
}

/** The operating system counts in steps of 10 ms: over less than this, the share is noise. */
const WINDOW_MS = 200;

/** Measures how busy the processors of this machine are. */
export class CpuGauge {
  readonly #read: () => CpuTimes;
  #begin: CpuTimes;
  #window: CpuTimes;
  #latest: CpuUse = { machine: 0, own: 0 };

  constructor(read: () => CpuTimes = () => readTimes()) {
    this.#read = read;
    this.#begin = read();
    this.#window = this.#begin;
  }

  /** Restarts the measurement. */
  begin(): void {
    this.#begin = this.#read();
    this.#window = this.#begin;
  }

  /** The use since {@link CpuGauge.begin}. */
  get use(): CpuUse {
    return useBetween(this.#begin, this.#read());
  }

  /** The use over the last window, of 200 ms or more. */
  get recent(): CpuUse {
    const now = this.#read();
    if (now.totalMs - this.#window.totalMs >= WINDOW_MS) {
      this.#latest = useBetween(this.#window, now);
      this.#window = now;
    }
    return this.#latest;
  }
}

function useBetween(from: CpuTimes, to: CpuTimes): CpuUse {
  const totalMs = to.totalMs - from.totalMs;
  if (totalMs <= 0) return { machine: 0, own: 0 };
  const share = (ms: number) => Math.min(1, Math.max(0, ms / totalMs));
  return {
    machine: 1 - share(to.idleMs - from.idleMs),
    own: share(to.ownMs - from.ownMs),
  };
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
