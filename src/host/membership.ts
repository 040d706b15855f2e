import { HandleError } from '../errors.ts';
import type { Region } from '../memory/region.ts';
import { timers } from '../memory/runtime.ts';
import { sharingOf } from '../memory/sharing.ts';
import { type HostProcess, type HostRecovery, Processes } from './processes.ts';
import type { claimEntry, Opened } from './region-making.ts';

const SWEEP_MS = 500;

/** A thread's membership in a region: its entry, and the sweeps that it makes. */
export class Membership {
  readonly #processes: Processes;
  readonly #timer: ReturnType<typeof timers.repeat>;
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  /** Its file is closed then: the descriptor may be another file's. */
  #hasLeft = false;

  /**
   * `own`: the entry that {@link claimEntry} returned. `opener`: that of the thread that opened the
   * file; by default this one.
   */
  constructor(region: Region, { file, locks }: Opened, own: number, opener = own) {
    const processes = new Processes(region, locks, own);
    this.#processes = processes;
    sharingOf.set(region.memory, {
      path: file.path,
      process: own,
      opener,
      hasLeft: () => this.#hasLeft,
      hasEnded: (process) => !this.#hasLeft && processes.hasEnded(process),
      tend: () => this.#tend(),
    });
    processes.enter();
    // A process that takes the place of a killed one may need its permits at once.
    this.#tend();
    this.#timer = timers.repeat(() => this.#tend(), SWEEP_MS);
    this.#timer.unref();
  }

  #tend(): void {
    const nowMs = timers.nowMs();
    if (this.#hasLeft || nowMs - this.#sweptAtMs < SWEEP_MS / 2) return;
    this.#sweptAtMs = nowMs;
    try {
      this.#processes.sweep();
    } catch (error) {
      // Calls on a damaged limiter report it themselves.
      if (!(error instanceof HandleError)) throw error;
    }
  }

  list(): HostProcess[] {
    return this.#processes.list();
  }

  get recovered(): HostRecovery {
    return this.#processes.recovered;
  }

  /** Ends the sweeps, and releases what this thread holds and its entry. */
  leave(): void {
    timers.stopRepeating(this.#timer);
    try {
      this.#processes.leave();
    } finally {
      this.#hasLeft = true;
    }
  }
}
