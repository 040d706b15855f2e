import type { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { TIMER, TIMER_BOARD, TIMER_BOARD_BYTES, TIMER_BYTES, TIMERS } from '../memory/layout.ts';
import { nodeModule } from '../memory/runtime.ts';
import { exchangeDouble, loadDouble } from '../memory/shared-double.ts';
import { isShared, sharedBytes } from '../memory/shared-memory.ts';
import { startThread, type Threads } from './background-thread.ts';

const { thread, running, threads, event, earliest, used } = TIMER_BOARD;
const WORD_BYTES = Int32Array.BYTES_PER_ELEMENT;
const LONG_BYTES = BigInt64Array.BYTES_PER_ELEMENT;

/** The due instant of an unused timer. */
const FREE = 0;

/** A timer from when it is set until it fires or is cleared. */
export interface SetTimer {
  readonly index: number;
  readonly dueUs: number;
  /** How often it had fired before it was set. */
  readonly fired: number;
}

/**
 * Shared memory in which the threads of a process set timers for the timer thread. A timer that
 * has fired is free again, so a terminated thread's timers come back by themselves.
 */
export class TimerBoard {
  readonly buffer: SharedArrayBuffer;
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly #longs: BigInt64Array<SharedArrayBuffer>;
  /** Where to look first for a free timer: where this thread found the last one. */
  #next = 0;

  private constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.words = new Int32Array(buffer);
    this.#longs = new BigInt64Array(buffer);
  }

  static create(): TimerBoard {
    return new TimerBoard(sharedBytes(TIMER_BOARD_BYTES));
  }

  /** Opens a board; undefined if `buffer` is not one. */
  static open(buffer: unknown): TimerBoard | undefined {
    if (!isShared(buffer) || buffer.byteLength !== TIMER_BOARD_BYTES) return undefined;
    return new TimerBoard(buffer);
  }

  /** The id of the timer thread, even while it starts; 0 if there is none. */
  get thread(): number {
    return Atomics.load(this.words, thread / WORD_BYTES);
  }

  /** Whether the timer thread is known to run. */
  get isServed(): boolean {
    const id = this.thread;
    return id !== 0 && Atomics.load(this.words, running / WORD_BYTES) === id;
  }

  /** Makes {@link isServed} false until the timer thread proves that it runs. */
  doubt(): void {
    Atomics.store(this.words, running / WORD_BYTES, 0);
    this.#fire();
  }

  /** Replaces the timer thread `before`. Returns the new id, or 0 if another thread was faster. */
  replace(before: number): number {
    const id = Atomics.add(this.words, threads / WORD_BYTES, 1) + 1;
    const found = Atomics.compareExchange(this.words, thread / WORD_BYTES, before, id);
    return found === before ? id : 0;
  }

  /** Removes a timer thread that has ended or could not start. */
  retire(id: number): void {
    Atomics.compareExchange(this.words, thread / WORD_BYTES, id, 0);
  }

  /** Index in {@link words} of the count of how often a timer has fired. */
  firedAt(index: number): number {
    return (TIMER_BOARD.timers + index * TIMER_BYTES + TIMER.fired) / WORD_BYTES;
  }

  #dueAt(index: number): number {
    return (TIMER_BOARD.timers + index * TIMER_BYTES + TIMER.due) / LONG_BYTES;
  }

  /** Sets a free timer, except for those to `skip`; undefined if there is none. */
  set(dueUs: number, skip: (index: number) => boolean = () => false): SetTimer | undefined {
    for (let i = 0; i < TIMERS; i++) {
      const index = (this.#next + i) % TIMERS;
      if (skip(index)) continue;
      const fired = Atomics.load(this.words, this.firedAt(index));
      if (!exchangeDouble(this.#longs, this.#dueAt(index), FREE, dueUs)) continue;
      this.#next = index;
      this.#use(index + 1);
      if (dueUs < loadDouble(this.#longs, earliest / LONG_BYTES)) this.#fire();
      return { index, dueUs, fired };
    }
    return undefined;
  }

  /** Clears a timer; false if it has fired. */
  clear({ index, dueUs }: SetTimer): boolean {
    return exchangeDouble(this.#longs, this.#dueAt(index), dueUs, FREE);
  }

  /** Clears a timer and wakes its listener; false if it has fired, which woke it too. */
  cancel(timer: SetTimer): boolean {
    if (!this.clear(timer)) return false;
    Atomics.notify(this.words, this.firedAt(timer.index));
    return true;
  }

  /** Makes the timer thread look at the first `count` timers. */
  #use(count: number): void {
    const at = used / WORD_BYTES;
    for (let before = Atomics.load(this.words, at); before < count; ) {
      before = Atomics.compareExchange(this.words, at, before, count);
    }
  }

  #fire(): void {
    Atomics.add(this.words, event / WORD_BYTES, 1);
    Atomics.notify(this.words, event / WORD_BYTES);
  }
}

/** The data that a timer thread starts with. */
export interface TimerThread {
  readonly buffer: SharedArrayBuffer;
  readonly id: number;
}

/** The layout that its program needs. */
export interface TimerLayout {
  readonly board: typeof TIMER_BOARD;
  readonly timer: typeof TIMER;
  readonly timerBytes: number;
  /** The thread ends when no timer was set for this time. */
  readonly idleMs: number;
}

/**
 * Blocks until the earliest timer of a board is due, fires all that are due, and repeats. Returns
 * when no timer was set for some time, or when another thread has taken over. Run as
 * {@link programOf} says.
 */
export function runTimers({ buffer, id }: TimerThread, layout: TimerLayout): void {
  const { board, timer, timerBytes, idleMs } = layout;
  const words = new Int32Array(buffer);
  const longs = new BigInt64Array(buffer);
  const time = new Float64Array(1);
  const bits = new BigInt64Array(time.buffer);
  const free = bits[0] as bigint; // the bits of 0
  const threadAt = board.thread / 4;
  const eventAt = board.event / 4;
  let isIdle = false;
  let isLeaving = false;
  for (;;) {
    // Read before the timers, so that none set meanwhile is missed.
    const seen = Atomics.load(words, eventAt);
    if (!isLeaving && Atomics.load(words, threadAt) !== id) return;
    Atomics.store(words, board.running / 4, id);
    // Every timer set before the earliest is known fires the event.
    time[0] = Number.POSITIVE_INFINITY;
    Atomics.store(longs, board.earliest / 8, bits[0] as bigint);
    // The same reading as the system clock's.
    const read = process.hrtime();
    const nowUs = read[0] * 1e6 + read[1] / 1e3;
    let earliestUs = Number.POSITIVE_INFINITY;
    const used = Atomics.load(words, board.used / 4);
    for (let index = 0; index < used; index++) {
      const at = board.timers + index * timerBytes;
      const due = Atomics.load(longs, (at + timer.due) / 8);
      if (due === free) continue;
      bits[0] = due;
      const dueUs = time[0];
      if (dueUs > nowUs) earliestUs = Math.min(earliestUs, dueUs);
      else if (Atomics.compareExchange(longs, (at + timer.due) / 8, due, free) === due) {
        Atomics.add(words, (at + timer.fired) / 4, 1);
        Atomics.notify(words, (at + timer.fired) / 4);
      }
    }
    if (earliestUs === Number.POSITIVE_INFINITY) {
      if (isLeaving) return;
      if (isIdle) {
        // Either the setter of a timer sees that this thread has ended, or this thread sees the
        // timer.
        Atomics.compareExchange(words, threadAt, id, 0);
        isLeaving = true;
        continue;
      }
    } else if (isLeaving) {
      if (Atomics.compareExchange(words, threadAt, 0, id) !== 0) return;
      isLeaving = false;
    }
    time[0] = earliestUs;
    Atomics.store(longs, board.earliest / 8, bits[0] as bigint);
    const isNone = earliestUs === Number.POSITIVE_INFINITY;
    const ms = isNone ? idleMs : (earliestUs - nowUs) / 1000;
    isIdle = Atomics.wait(words, eventAt, seen, ms) === 'timed-out' && isNone;
  }
}

/** The key of the board in the threads' environment data, which started threads inherit. */
const KEY = 'zerotime.timers.1';

const LAYOUT: TimerLayout = {
  board: TIMER_BOARD,
  timer: TIMER,
  timerBytes: TIMER_BYTES,
  idleMs: 10_000,
};

interface NodeThreads extends Threads {
  readonly getEnvironmentData: typeof getEnvironmentData;
  readonly setEnvironmentData: typeof setEnvironmentData;
}

/** Node.js only: other runtimes lack parts of its threads that timers need. */
function nodeThreads(): NodeThreads | undefined {
  const { bun, deno } = globalThis.process?.versions ?? {};
  if (bun !== undefined || deno !== undefined || Atomics.waitAsync === undefined) return undefined;
  return nodeModule<NodeThreads>('worker_threads');
}

/**
 * The board of this process: inherited from the thread that started this one, or new, for the
 * threads that this one starts. Undefined if no timer thread can run.
 */
export function timerBoard(): TimerBoard | undefined {
  const threads = nodeThreads();
  if (threads === undefined) return undefined;
  const known = TimerBoard.open(threads.getEnvironmentData(KEY));
  if (known !== undefined) return known;
  const board = TimerBoard.create();
  threads.setEnvironmentData(KEY, board.buffer);
  return board;
}

/**
 * Starts a timer thread, which does not keep the process alive. Calls `onFail` if it cannot start.
 */
export function startTimerThread(board: TimerBoard, id: number, onFail: () => void): void {
  const retire = () => board.retire(id);
  const fail = () => {
    retire();
    onFail();
  };
  try {
    const threads = nodeThreads();
    if (threads === undefined) throw new Error('there are no threads');
    const data = { buffer: board.buffer, id };
    const worker = startThread(threads, 'zerotime timers', runTimers, data, LAYOUT, true);
    worker.once('error', fail);
    worker.once('exit', retire);
  } catch {
    // For example, the permission model forbids threads.
    fail();
  }
}
