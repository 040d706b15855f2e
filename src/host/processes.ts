import { PROCESS, PROCESS_BYTES, PROCESS_COUNT, RECOVERED, REGION } from '../memory/layout.ts';
import type { Region } from '../memory/region.ts';
import { addDouble, loadDouble } from '../memory/shared-double.ts';
import { systemClock } from '../time/system-clock.ts';
import type { FileLocks } from './file-locks.ts';
import { type Recovered, recoverProcess } from './recovery.ts';
import { noteTime } from './region-time.ts';

/** A process that has a region open, or ended without closing it. */
export interface HostProcess {
  /** Its id in its own container: processes of two containers can have the same. */
  readonly pid: number;
  /** Milliseconds since it opened the region. */
  readonly openMs: number;
  /** Whether it still runs. The holdings of an ended process come back within a second. */
  readonly isAlive: boolean;
  /**
   * Whether this is the calling thread's entry. Containers can have equal pids, so compare this.
   */
  readonly isOwn: boolean;
}

/** What came back from the processes that ended without closing a region, since its creation. */
export interface HostRecovery {
  /** Number of those processes. Threads that opened the region themselves count as processes. */
  readonly processes: number;
  /** Permits that they held. */
  readonly permits: number;
  /** Tokens of fleet buckets for which they waited. */
  readonly tokens: number;
}

/**
 * The processes that have a region open, by entry. A process holds the lock of its entry's number.
 * When it ends, the system releases the lock, and the next process to take it recovers what the
 * first one held.
 */
export class Processes {
  readonly #region: Region;
  readonly #locks: FileLocks;
  readonly #entries: number;
  /** The entry of this process. */
  readonly own: number;

  /** `own`: an entry whose lock this process holds; {@link enter} it. */
  constructor(region: Region, locks: FileLocks, own: number) {
    this.#region = region;
    this.#locks = locks;
    this.#entries = region.i32[REGION.processes] ?? 0;
    this.own = own;
  }

  /**
   * Recovers what the entry's last process held, and writes this process into it. Recovery leaves
   * marks of this thread for a while, so the thread must know its entry by now.
   */
  enter(): void {
    this.#recover(this.own);
    const at = this.#at(this.own);
    this.#region.f64[(at + PROCESS.openedUs) >> 3] = systemClock.now();
    Atomics.store(this.#region.i32, (at + PROCESS.pid) >> 2, process.pid);
  }

  #at(entry: number): number {
    return this.#entries + entry * PROCESS_BYTES;
  }

  #pid(entry: number): number {
    return Atomics.load(this.#region.i32, (this.#at(entry) + PROCESS.pid) >> 2);
  }

  hasEnded(entry: number): boolean {
    return entry !== this.own && !this.#locks.isTaken(entry);
  }

  /** Recovers the holdings of processes that have ended, and notes the time for the next start. */
  sweep(): void {
    noteTime(this.#region, this.#entries);
    for (let entry = 1; entry <= PROCESS_COUNT; entry++) {
      if (entry === this.own || this.#pid(entry) === 0 || !this.#locks.take(entry)) continue;
      try {
        this.#recover(entry);
      } finally {
        this.#locks.release(entry);
      }
    }
  }

  /** Frees the entry of an ended process, and counts what it held. */
  #recover(entry: number): void {
    // Another process may have recovered it already.
    if (this.#pid(entry) === 0) return;
    const { permits, tokens } = this.#free(entry);
    const { i32, i64 } = this.#region;
    Atomics.add(i32, (this.#entries + RECOVERED.processes) >> 2, 1);
    Atomics.add(i32, (this.#entries + RECOVERED.permits) >> 2, permits);
    addDouble(i64, (this.#entries + RECOVERED.tokens) >> 3, tokens);
  }

  /** What ended processes held, over all sweeps of all processes. */
  get recovered(): HostRecovery {
    const { i32, i64 } = this.#region;
    return {
      processes: Atomics.load(i32, (this.#entries + RECOVERED.processes) >> 2),
      permits: Atomics.load(i32, (this.#entries + RECOVERED.permits) >> 2),
      tokens: loadDouble(i64, (this.#entries + RECOVERED.tokens) >> 3),
    };
  }

  #free(entry: number): Recovered {
    const recovered = recoverProcess(this.#region, entry);
    Atomics.store(this.#region.i32, (this.#at(entry) + PROCESS.pid) >> 2, 0);
    return recovered;
  }

  /** Releases what this process holds, and its entry. */
  leave(): void {
    try {
      noteTime(this.#region, this.#entries);
      this.#free(this.own);
    } finally {
      this.#locks.release(this.own);
    }
  }

  list(): HostProcess[] {
    const entries = Array.from({ length: PROCESS_COUNT }, (_, i) => i + 1);
    return entries.flatMap((entry) => {
      const pid = this.#pid(entry);
      if (pid === 0) return [];
      const openedUs = this.#region.f64[(this.#at(entry) + PROCESS.openedUs) >> 3] ?? 0;
      const openMs = (systemClock.now() - openedUs) / 1000;
      return [{ pid, openMs, isAlive: !this.hasEnded(entry), isOwn: entry === this.own }];
    });
  }
}
