import { timers } from '../memory/runtime.ts';
import { isPreciseByDefault } from './precise.ts';
import { type SetTimer, startTimerThread, type TimerBoard, timerBoard } from './timer-thread.ts';

/** A timer thread is doubted if it has fired no timer this long after the instant. */
const GUARD_MS = 10;
/**
 * A thread that does not run for this long is replaced; the time doubles if the next one fails too.
 */
const TIMEOUT_US = 1e6;
/**
 * A wake costs tens of microseconds of processor time in two threads. The long-run rate is one wake
 * per gap; the credit allows bursts.
 */
const GAP_US = 4_000;
const CREDIT_US = 40_000;
/** Beyond the credit, longer waits use timers, and shorter ones are extended to this. */
const SHORT_US = 400;

/** Lets threads started from now on share this thread's timer thread. */
export function sharePreciseTimers(): void {
  if (isPreciseByDefault()) PreciseTimers.ofThread();
}

/** This thread's precise timers: they fire within tens of microseconds, without spinning. */
export class PreciseTimers {
  static #own: PreciseTimers | undefined;
  static #isKnown = false;

  /** This thread's precise timers; undefined if no timer thread can run. */
  static ofThread(): PreciseTimers | undefined {
    if (!PreciseTimers.#isKnown) {
      PreciseTimers.#isKnown = true;
      const board = timerBoard();
      PreciseTimers.#own = board && new PreciseTimers(board, startTimerThread);
    }
    return PreciseTimers.#own;
  }

  readonly #board: TimerBoard;
  readonly #start: typeof startTimerThread;
  #canStart = true;
  /**
   * The sleeper of each timer that this thread listens to; undefined if it was cancelled.
   * Invariant: none of these timers is set again before this thread has heard it.
   */
  readonly #sleepers = new Map<number, (() => void) | undefined>();
  /** The instant up to which wakes have used their processor time. */
  #spentUs = Number.NEGATIVE_INFINITY;
  /** A thread that did not run, and the instant since when. */
  #absent = 0;
  #absentUs = 0;
  #timeoutUs = TIMEOUT_US;

  /** @internal */
  constructor(board: TimerBoard, start: typeof startTimerThread) {
    this.#board = board;
    this.#start = start;
  }

  /**
   * Calls `wake` at `atUs`, rarely earlier. The returned function cancels it. Keeps the event loop
   * alive. Returns undefined if the event loop's timers must do: while no timer thread runs, or, unless `strict`,
   * after too many recent wakes.
   */
  set(
    { atUs, nowUs, strict }: { atUs: number; nowUs: number; strict: boolean },
    wake: () => void,
  ): (() => void) | undefined {
    if (!this.#isServed(nowUs)) return undefined;
    const isSpent = !strict && this.#spentUs > nowUs + CREDIT_US;
    if (isSpent && atUs - nowUs > SHORT_US) return undefined;
    const dueUs = isSpent ? nowUs + SHORT_US : atUs;
    const timer = this.#board.set(dueUs, (index) => this.#sleepers.has(index));
    // The thread may have ended just before it could see the timer.
    if (timer === undefined || !this.#board.isServed) {
      if (timer !== undefined) this.#board.clear(timer);
      return undefined;
    }
    const fire = () => {
      timers.stop(guard);
      // Do not charge a sleeper woken by an earlier timer.
      const hasFired = !this.#board.clear(timer);
      if (hasFired && !isSpent && !strict) this.#spend(dueUs);
      wake();
    };
    const cancel = () => {
      if (this.#sleepers.get(timer.index) !== fire) return false;
      this.#sleepers.set(timer.index, undefined);
      timers.stop(guard);
      return this.#board.cancel(timer);
    };
    const guard = timers.start(
      () => {
        if (cancel()) this.#board.doubt();
        wake();
      },
      Math.ceil((dueUs - nowUs) / 1000) + GUARD_MS,
    );
    this.#sleepers.set(timer.index, fire);
    this.#listen(timer);
    return cancel;
  }

  /** Counts a wake. Wakes at the same time add no more debt than the next gap pays. */
  #spend(nowUs: number): void {
    const spentUs = Math.max(this.#spentUs, nowUs) + GAP_US;
    this.#spentUs = Math.min(spentUs, nowUs + CREDIT_US + GAP_US);
  }

  #listen({ index, fired }: SetTimer): void {
    const wait = Atomics.waitAsync(this.#board.words, this.#board.firedAt(index), fired);
    const heard = () => {
      const sleeper = this.#sleepers.get(index);
      this.#sleepers.delete(index);
      // Another thread's earlier timer may have fired: the sleeper looks at the clock.
      sleeper?.();
    };
    if (wait.async) wait.value.then(heard);
    else queueMicrotask(heard);
  }

  /** Whether a timer thread runs; otherwise starts or replaces it. */
  #isServed(nowUs: number): boolean {
    if (this.#board.isServed) {
      this.#absent = 0;
      this.#timeoutUs = TIMEOUT_US;
      return true;
    }
    const { thread } = this.#board;
    if (thread === 0) this.#replace(thread);
    else if (thread !== this.#absent) {
      this.#absent = thread;
      this.#absentUs = nowUs;
    } else if (nowUs - this.#absentUs > this.#timeoutUs) {
      this.#timeoutUs *= 2;
      this.#replace(thread);
    }
    return false;
  }

  #replace(thread: number): void {
    if (!this.#canStart) return;
    const id = this.#board.replace(thread);
    if (id === 0) return;
    this.#start(this.#board, id, () => {
      this.#canStart = false;
    });
  }
}
