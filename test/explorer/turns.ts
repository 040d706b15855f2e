import { KINDS, type Step } from './step.ts';

/**
 * The words by which the scheduler and the explored threads take turns. Only one of them runs at
 * any time: when it has finished its part, it reads here whose turn is next, and wakes it.
 */
const AT = { cursor: 0, length: 1, started: 2, rested: 3, killed: 4, mode: 5, fault: 6, wake: 8 };
const MODE = { run: 0, unwind: 1, leave: 2 } as const;
/** A run this long means that a thread spins. */
const MAX_STEPS = 8192;
const MAX_THREADS = 8;
const RESULT_BYTES = 4096;

/** Added to a thread's number in a schedule to stop it forever before its next step. */
export const STOPS = MAX_THREADS;

/** Faults of a run. */
export const FAULT = { none: 0, spins: 1, atRest: 2 } as const;

/** For each word, whether threads write it, so that accesses to it are steps. */
export const WORD = { unwritten: 0, written: 1, found: 2 } as const;

/** A completed step, and the value that its thread read. */
export interface TakenStep {
  readonly thread: number;
  readonly step: Step;
  readonly seen: bigint;
}

export interface TurnBuffers {
  readonly threads: number;
  readonly words: SharedArrayBuffer;
  readonly schedule: SharedArrayBuffer;
  readonly log: SharedArrayBuffer;
  readonly results: SharedArrayBuffer;
  readonly written: SharedArrayBuffer;
}

/** Unwinds a thread that is stopped forever. */
export class Stopped extends Error {}

// The log's record of a step: 4 numbers of 32 bits, 3 of 64.
const LOG32 = 10;
const LOG64 = 5;

/**
 * One side's view of the words. Uses Atomics and views as they were when this module was loaded.
 */
const { load, store, notify, wait } = Atomics;

export class Turns {
  readonly buffers: TurnBuffers;
  readonly written: Uint8Array;
  readonly #threads: number;
  readonly #words: Int32Array;
  readonly #schedule: Int32Array;
  readonly #log32: Int32Array;
  readonly #log64: BigInt64Array;
  readonly #results: Uint8Array;

  constructor(buffers: TurnBuffers) {
    this.buffers = buffers;
    this.#threads = buffers.threads;
    this.written = new Uint8Array(buffers.written);
    this.#words = new Int32Array(buffers.words);
    this.#schedule = new Int32Array(buffers.schedule);
    this.#log32 = new Int32Array(buffers.log);
    this.#log64 = new BigInt64Array(buffers.log);
    this.#results = new Uint8Array(buffers.results);
  }

  static create(threads: number, bytes: number): Turns {
    return new Turns({
      threads,
      words: new SharedArrayBuffer(4 * (AT.wake + 2 * (MAX_THREADS + 1))),
      schedule: new SharedArrayBuffer(4 * MAX_STEPS),
      log: new SharedArrayBuffer(8 * LOG64 * MAX_STEPS),
      results: new SharedArrayBuffer(RESULT_BYTES * threads),
      written: new SharedArrayBuffer(Math.ceil(bytes / 8)),
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
      const turn = this.#schedule[this.#get(AT.cursor)] as number; // never out of bounds
      if (turn < STOPS) {
        if ((this.#get(AT.rested) & (1 << turn)) === 0) return turn;
        this.#words[AT.fault] = FAULT.atRest;
        return this.#threads;
      }
      this.#words[AT.killed] = this.#get(AT.killed) | (1 << (turn - STOPS));
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
    const log32 = this.#log32;
    const at = taken * LOG32;
    log32[at] = thread;
    log32[at + 1] = step.operation;
    log32[at + 2] = KINDS.indexOf(step.kind) * 2 + (step.wide ? 1 : 0);
    log32[at + 3] = step.address;
    this.#log64[taken * LOG64 + 2] = step.a;
    this.#log64[taken * LOG64 + 3] = step.b;
    this.#log64[taken * LOG64 + 4] = seen;
    this.#bump();
    if (taken + 1 === MAX_STEPS) this.#words[AT.fault] = FAULT.spins;
  }

  /** Records a write to a word that was assumed to be never written. */
  found(word: number): void {
    this.written[word] = WORD.found;
  }

  /** Ends this thread's part of the run. */
  rest(thread: number, results: unknown): void {
    const bytes = new TextEncoder().encode(JSON.stringify(results));
    if (bytes.length > RESULT_BYTES - 4) throw new Error('results of that size have no room');
    const start = thread * RESULT_BYTES;
    this.#results.set(bytes, start + 4);
    new DataView(this.buffers.results).setInt32(start, bytes.length);
    this.#words[AT.rested] = this.#get(AT.rested) | (1 << thread);
    this.#wake(this.#next());
  }

  // The scheduler's side.

  /** Lets the threads follow a schedule, then run to their ends one by one; returns the fault. */
  run(schedule: readonly number[]): number {
    this.#words.fill(0, 0, AT.wake);
    this.#schedule.set(schedule);
    this.#words[AT.length] = schedule.length;
    this.#wake(0);
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
    if (!this.#sleep(this.#threads, 20_000)) throw new Error('a thread hangs between two steps');
  }

  /** The steps of the last run. */
  taken(schedule: readonly number[]): TakenStep[] {
    const log: TakenStep[] = [];
    for (let at = 0; at < this.#get(AT.cursor); at++) {
      if ((schedule[at] ?? 0) >= STOPS) continue;
      const field = (n: number) => this.#log32[at * LOG32 + n] ?? 0;
      const long = (n: number) => this.#log64[at * LOG64 + 2 + n] ?? 0n;
      const kind = KINDS[field(2) >> 1];
      if (kind === undefined) throw new Error('the log of steps makes no sense');
      log.push({
        thread: field(0),
        step: {
          operation: field(1),
          kind,
          wide: (field(2) & 1) === 1,
          address: field(3),
          a: long(0),
          b: long(1),
        },
        seen: long(2),
      });
    }
    return log;
  }

  results(thread: number): unknown[] {
    const start = thread * RESULT_BYTES;
    const length = new DataView(this.buffers.results).getInt32(start);
    const bytes = this.#results.slice(start + 4, start + 4 + length);
    return JSON.parse(new TextDecoder().decode(bytes));
  }

  /** Ends the threads' loops. */
  leave(): void {
    this.#words[AT.mode] = MODE.leave;
    for (let thread = 0; thread < this.#threads; thread++) this.#wake(thread);
  }
}
