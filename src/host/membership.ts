import { HandleError } from '../errors.ts';
import { PROCESS, PROCESS_BYTES, RECOVERED } from '../memory/layout.ts';
import type { Region } from '../memory/region.ts';
import { timers } from '../memory/runtime.ts';
import { addDouble, loadDouble } from '../memory/shared-double.ts';
import { sharingOf } from '../memory/sharing.ts';
import { systemClock } from '../time/system-clock.ts';
import { ENTRIES, type FileLocks } from './file-locks.ts';
import { recoverProcess } from './recovery.ts';
import { fail } from './region-file.ts';
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
  /** Number of those processes. Threads with an entry of their own count as processes. */
  readonly processes: number;
  /** Permits that they held. */
  readonly permits: number;
  /** Tokens of fleet buckets for which they waited. */
  readonly tokens: number;
}

const RECOVERY_MS = 500;

/**
 * A thread's membership in a region: its entry, and the recovery of processes that have ended. The
 * holder of an entry has the lock of its number. When it ends, the system releases the lock, and the
 * next process to take it recovers what the first one held.
 */
export class Membership {
  readonly #region: Region;
  readonly #locks: FileLocks;
  /** Byte offset of the entries. */
  readonly #entries: number;
  readonly #own: number;
  readonly #timer: ReturnType<typeof timers.repeat>;
  #recoveredAtMs = Number.NEGATIVE_INFINITY;
  /** Its file is closed then: the descriptor may be another file's. */
  #hasLeft = false;

  /**
   * `own`: the entry that `FileLocks.claimEntry` returned. `opener`: that of the thread that opened
   * the file; by default this one.
   */
  constructor(region: Region, locks: FileLocks, own: number, opener = own) {
    this.#region = region;
    this.#locks = locks;
    this.#entries = region.entries;
    this.#own = own;
    // Fails if the region's time is damaged.
    noteTime(region, this.#entries);
    // Before the recovery, which leaves marks of this thread for a while: it must know its entry.
    sharingOf.set(region.memory, {
      path: locks.file.path,
      process: own,
      opener,
      hasLeft: () => this.#hasLeft,
      hasEnded: (entry) => !this.#hasLeft && this.#hasEnded(entry),
      recoverEnded: () => this.#recoverEnded(),
    });
    this.#recover(own);
    const at = this.#at(own);
    region.f64[(at + PROCESS.openedUs) >> 3] = systemClock.now();
    Atomics.store(region.i32, (at + PROCESS.pid) >> 2, process.pid);
    // A process that takes the place of a killed one may need its permits at once.
    this.#recoverEnded();
    this.#timer = timers.repeat(() => this.#recoverEnded(), RECOVERY_MS, false);
  }

  #at(entry: number): number {
    return this.#entries + entry * PROCESS_BYTES;
  }

  #pid(entry: number): number {
    return Atomics.load(this.#region.i32, (this.#at(entry) + PROCESS.pid) >> 2);
  }

  #hasEnded(entry: number): boolean {
    return entry !== this.#own && !this.#locks.isTaken(entry);
  }

  /**
   * Recovers the holdings of processes that have ended, and notes the time for the next start of the
   * machine. Does nothing if it has just done so.
   */
  #recoverEnded(): void {
    const nowMs = timers.nowMs();
    if (this.#hasLeft || nowMs - this.#recoveredAtMs < RECOVERY_MS / 2) return;
    this.#recoveredAtMs = nowMs;
    try {
      noteTime(this.#region, this.#entries);
      for (const entry of ENTRIES) this.#recoverIfEnded(entry);
    } catch (error) {
      // Calls on a damaged limiter report it themselves.
      if (!(error instanceof HandleError)) throw error;
    }
  }

  #recoverIfEnded(entry: number): void {
    if (entry === this.#own || this.#pid(entry) === 0 || !this.#locks.take(entry)) return;
    try {
      this.#recover(entry);
    } finally {
      this.#locks.release(entry);
    }
  }

  /** Frees the entry of an ended process, and counts what it held. */
  #recover(entry: number): void {
    // Another process may have recovered it already.
    if (this.#pid(entry) === 0) return;
    const { permits, tokens } = recoverProcess(this.#region, entry);
    this.#free(entry);
    const { i32, i64 } = this.#region;
    Atomics.add(i32, (this.#entries + RECOVERED.processes) >> 2, 1);
    Atomics.add(i32, (this.#entries + RECOVERED.permits) >> 2, permits);
    addDouble(i64, (this.#entries + RECOVERED.tokens) >> 3, tokens);
  }

  #free(entry: number): void {
    Atomics.store(this.#region.i32, (this.#at(entry) + PROCESS.pid) >> 2, 0);
  }

  /** What ended processes held, as counted by all processes. */
  get recovered(): HostRecovery {
    const { i32, i64 } = this.#region;
    return {
      processes: Atomics.load(i32, (this.#entries + RECOVERED.processes) >> 2),
      permits: Atomics.load(i32, (this.#entries + RECOVERED.permits) >> 2),
      tokens: loadDouble(i64, (this.#entries + RECOVERED.tokens) >> 3),
    };
  }

  /** @throws HandleError `ERR_REGION_INVALID` after {@link leave}: the locks are another file's then. */
  checkOpen(): void {
    if (!this.#hasLeft) return;
    throw fail('ERR_REGION_INVALID', this.#locks.file.path, 'is closed in this thread');
  }

  /** The processes that have the region open, by entry. */
  list(): HostProcess[] {
    this.checkOpen();
    return ENTRIES.flatMap((entry) => {
      const pid = this.#pid(entry);
      if (pid === 0) return [];
      const openedUs = this.#region.f64[(this.#at(entry) + PROCESS.openedUs) >> 3] ?? 0;
      const openMs = (systemClock.now() - openedUs) / 1000;
      return [{ pid, openMs, isAlive: !this.#hasEnded(entry), isOwn: entry === this.#own }];
    });
  }

  /** Ends the recovery, and releases what this thread holds and its entry. */
  leave(): void {
    timers.stop(this.#timer);
    try {
      noteTime(this.#region, this.#entries);
      recoverProcess(this.#region, this.#own);
      this.#free(this.#own);
    } finally {
      this.#locks.release(this.#own);
      this.#hasLeft = true;
    }
  }
}
