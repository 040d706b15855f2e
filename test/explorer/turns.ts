import { type LogBuffers, RunLog, type TakenStep } from './run-log.ts';
import type { Step } from './step.ts';

/**
 * The words by which the scheduler and the explored threads take turns. Only one of them runs at
 * any time: when it has finished its part, it reads here whose turn is next, and wakes it.
 */
const AT = { cursor: 0, length: 1, started: 2, rested: 3, killed: 4, mode: 5, fault: 6, wake: 8 };
const MODE = { run: 0, unwind: 1, leave: 2 } as const;
/** A run this long means that a thread spins. */
const MAX_STEPS = 8192;
const MAX_THREADS = 8;
/** Threads may have to wait for a processor: the explorer is nice. */
const TIMEOUT_MS = 120_000;

/** Added to a thread's number in a schedule to stop it forever before its next step. */
export const STOPS = MAX_THREADS;
/** Added to a word's index in a schedule: the word gets what an absent thread had written there. */
export const WRITTEN = 2 * MAX_THREADS;

/** Faults of a run. */
export const FAULT = { none: 0, spins: 1, atRest: 2 } as const;

/** For each word, whether threads write it, so that accesses to it are steps. */
export const WORD = { unwritten: 0, written: 1, found: 2 } as const;

export interface TurnBuffers {
  readonly threads: number;
  readonly words: SharedArrayBuffer;
  readonly schedule: SharedArrayBuffer;
  readonly values: SharedArrayBuffer;
  readonly log: LogBuffers;
  readonly written: SharedArrayBuffer;
  readonly explored: SharedArrayBuffer;
}

/** Unwinds a thread that is stopped forever. */
export class Stopped extends Error {}

/**
 * One side's view of the words. Uses Atomics and views as they were when this module was loaded.
 */
const { load, store, notify, wait } = Atomics;
const Words = BigInt64Array;

export class Turns {
  readonly buffers: TurnBuffers;
  readonly written: Uint8Array;
  readonly #threads: number;
  readonly #words: Int32Array;
  readonly #schedule: Int32Array;
  readonly #values: BigInt64Array;
  readonly #explored: BigInt64Array;
  readonly #log: RunLog;

  constructor(buffers: TurnBuffers) {
    this.buffers = buffers;
    this.#threads = buffers.threads;
    this.written = new Uint8Array(buffers.written);
    this.#words = new Int32Array(buffers.words);
    this.#schedule = new Int32Array(buffers.schedule);
    this.#values = new BigInt64Array(buffers.values);
    this.#explored = new Words(buffers.explored);
    this.#log = new RunLog(buffers.log);
  }

  static create(threads: number, explored: SharedArrayBuffer): Turns {
    return new Turns({
      threads,
      explored,
      words: new SharedArrayBuffer(4 * (AT.wake + 2 * (MAX_THREADS + 1))),
      schedule: new SharedArrayBuffer(4 * MAX_STEPS),
      values: new SharedArrayBuffer(8 * MAX_STEPS),
      log: RunLog.create(threads, MAX_STEPS).buffers,
      written: new SharedArrayBuffer(Math.ceil(explored.byteLength / 8)),
    });
  }

  // One side runs at a time, and waking synchronizes, so plain accesses suffice.

  #get(at: number): number {
    return this.#words[at] as number; // never out of bounds
  }

  /** Whose turn is next: a thread's number, or the number of threads for the scheduler. */
  #next(): number {
    if (this.#get(AT.mode) !== MODE.run || this.#get(AT.fault) === FAULT.spins)
      return this.#threads;
    for (let thread = 0; thread < this.#threads; thread++) {
      if ((this.#get(AT.started) & (1 << thread)) === 0) return thread;
    }
    for (; this.#get(AT.cursor) < this.#get(AT.length); this.#bump()) {
      const cursor = this.#get(AT.cursor);
      const turn = this.#schedule[cursor] as number; // never out of bounds
      if (turn < STOPS) {
        if ((this.#get(AT.rested) & (1 << turn)) === 0) return turn;
        this.#words[AT.fault] = FAULT.atRest;
        return this.#threads;
      }
      if (turn >= WRITTEN) this.#explored[turn - WRITTEN] = this.#values[cursor] ?? 0n;
      else this.#words[AT.killed] = this.#get(AT.killed) | (1 << (turn - STOPS));
    }
    const over = this.#get(AT.rested) | this.#get(AT.killed);
    for (let thread = 0; thread < this.#threads; thread++) {
      if ((over & (1 << thread)) === 0) return thread;
    }
    return this.#threads;
  }

  #bump(): void {
    this.#words[AT.cursor] = this.#get(AT.cursor) + 1;
  }

  #wake(who: number): void {
    store(this.#words, AT.wake + 2 * who, 1);
    notify(this.#words, AT.wake + 2 * who);
  }

  #sleep(who: number, timeoutMs?: number): boolean {
    const at = AT.wake + 2 * who;
    while (load(this.#words, at) === 0) {
      if (wait(this.#words, at, 0, timeoutMs) === 'timed-out') return false;
    }
    store(this.#words, at, 0);
    return true;
  }

  // A thread's side.

  /** Waits for the start of a run; false if there are no more runs. */
  awaitStart(thread: number): boolean {
    this.#sleep(thread);
    this.#words[AT.started] = this.#get(AT.started) | (1 << thread);
    return this.#get(AT.mode) !== MODE.leave;
  }

  /** Waits until it is this thread's turn to take a step. */
  awaitTurn(thread: number): void {
    const next = this.#next();
    if (next === thread) return;
    this.#wake(next);
    this.#sleep(thread);
    if (this.#get(AT.mode) !== MODE.run) throw new Stopped();
  }

  /** Records a completed step. */
  record(thread: number, step: Step, seen: bigint): void {
    const taken = this.#get(AT.cursor);
    this.#log.write(taken, { thread, step, seen });
    this.#bump();
    if (taken + 1 === MAX_STEPS) this.#words[AT.fault] = FAULT.spins;
  }

  /** Records a write to a word that was assumed to be never written. */
  found(word: number): void {
    this.written[word] = WORD.found;
  }

  /** Ends this thread's part of the run. */
  rest(thread: number, results: unknown): void {
    this.#log.setResults(thread, results);
    this.#words[AT.rested] = this.#get(AT.rested) | (1 << thread);
    this.#wake(this.#next());
  }

  // The scheduler's side.

  /** Lets the threads follow a schedule, then run to their ends one by one; returns the fault. */
  run(schedule: readonly number[]): number {
    this.#words.fill(0, 0, AT.wake);
    return this.#start(0, schedule);
  }

  /** The same with one thread; the others are absent, and `values` are what they had written. */
  runAlone(thread: number, schedule: readonly number[], values: readonly bigint[]): number {
    const all = (1 << this.#threads) - 1;
    this.#words.fill(0, 0, AT.wake);
    this.#words[AT.started] = all;
    this.#words[AT.rested] = all & ~(1 << thread);
    for (const [at, value] of values.entries()) this.#values[at] = value;
    return this.#start(thread, schedule);
  }

  #start(first: number, schedule: readonly number[]): number {
    this.#schedule.set(schedule);
    this.#words[AT.length] = schedule.length;
    this.#wake(first);
    this.#await();
    return this.#get(AT.fault);
  }

  /** Ends the runs of stopped threads. */
  unwind(): void {
    this.#words[AT.mode] = MODE.unwind;
    for (let thread = 0; thread < this.#threads; thread++) {
      if ((this.#get(AT.rested) & (1 << thread)) !== 0) continue;
      this.#wake(thread);
      this.#await();
    }
  }

  #await(): void {
    if (!this.#sleep(this.#threads, TIMEOUT_MS))
      throw new Error('a thread hangs between two steps');
  }

  /** The steps of the last run: of absent threads, none. */
  taken(schedule: readonly number[]): TakenStep[] {
    const taken: TakenStep[] = [];
    for (let at = 0; at < this.#get(AT.cursor); at++) {
      if ((schedule[at] ?? 0) < STOPS) taken.push(this.#log.read(at));
    }
    return taken;
  }

  results(thread: number): unknown[] {
    return this.#log.results(thread);
  }

  /** Ends the threads' loops. */
  leave(): void {
    this.#words[AT.mode] = MODE.leave;
    for (let thread = 0; thread < this.#threads; thread++) this.#wake(thread);
  }
}
