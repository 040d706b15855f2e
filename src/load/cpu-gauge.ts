import { cpus } from 'node:os';
import { WindowedGauge } from './windowed-gauge.ts';

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
export class CpuGauge extends WindowedGauge<CpuTimes, CpuUse> {
  constructor(read: () => CpuTimes = () => readTimes()) {
    super({ read, lengthMs, use: useBetween }, WINDOW_MS, { machine: 0, own: 0 });
  }
}

function lengthMs(from: CpuTimes, to: CpuTimes): number {
  return to.totalMs - from.totalMs;
}

function useBetween(from: CpuTimes, to: CpuTimes): CpuUse {
  const totalMs = lengthMs(from, to);
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
