/** Over shorter times, one long task would count as a full event loop. */
const WINDOW_MS = 100;
/** A loop that is busier than this has no time left. */
const FULL = 0.95;

/** The state of an event loop, in milliseconds since the thread began. */
interface LoopTimes {
  /** Blocked sleeps included: to the event loop they are work. */
  readonly activeMs: number;
  readonly idleMs: number;
  readonly sleptMs: number;
}

/** How busy this thread's event loop is, apart from the sleeps of the pacer. */
export class LoopGauge {
  readonly #read: () => LoopTimes;
  #begin: LoopTimes;
  #window: LoopTimes;
  #isFull = false;

  /** @param sleptMs how long the pacer has slept so far */
  static ofThisThread(sleptMs: () => number): LoopGauge {
    return new LoopGauge(() => {
      const { active, idle } = performance.eventLoopUtilization();
      return { activeMs: active, idleMs: idle, sleptMs: sleptMs() };
    });
  }

  constructor(read: () => LoopTimes) {
    this.#read = read;
    this.#begin = read();
    this.#window = this.#begin;
  }

  /** Begins to measure anew. */
  begin(): void {
    this.#begin = this.#read();
    this.#window = this.#begin;
  }

  /** The share of the time since the beginning in which the loop was busy. */
  get busy(): number {
    return busyBetween(this.#begin, this.#read());
  }

  /** Whether the loop had no time left over the last tenth of a second that has passed. */
  get isFull(): boolean {
    const now = this.#read();
    if (lengthMs(this.#window, now) >= WINDOW_MS) {
      this.#isFull = busyBetween(this.#window, now) > FULL;
      this.#window = now;
    }
    return this.#isFull;
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
