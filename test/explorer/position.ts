import type { Progress } from './behaviour.ts';
import type { Returned } from './exploration.ts';
import { Numbering } from './numbering.ts';
import { Memory, type Step, wordOf } from './step.ts';
import { STOPS, WRITTEN } from './turns.ts';

/** A thread's next step, and how far it is before and after. */
export interface Move {
  readonly thread: number;
  readonly step: Step;
  readonly before: Progress;
  readonly after: Progress;
}

/** A state has the number of the contents, then two numbers for each thread. */
const OF_THREAD = 2;

/** The position of a search: the contents of the words, and each thread's history. */
export class Position {
  readonly memory: Memory;
  readonly progress: Progress[];
  /** What had completed when each operation, by thread, took its first step. */
  readonly begun: (Returned | undefined)[][];
  /** The thread that was stopped forever, or -1. */
  stopped = -1;
  /** The schedule so far. */
  readonly path: number[] = [];
  /** The word that each turn of the schedule changed, or -1, and what it held then. */
  readonly #changed: number[] = [];
  readonly #values: bigint[] = [];
  readonly #words: readonly number[];
  readonly #halves: Int32Array;
  readonly #contentsOf: Numbering;
  /** A number for the contents of the words. */
  #contents: number;
  /** A number for what is in {@link begun}, by thread. */
  readonly #history: number[];
  readonly #histories = new Map([['', 0]]);
  /** Threads with the same operations, by kind: to swap them changes nothing that can follow. */
  readonly #alike: readonly (readonly number[])[];
  /** The threads, in the order in which a state names them. */
  readonly #order: number[];
  readonly #state: Int32Array;
  readonly #states: Numbering;

  /** `words` are the words that threads write. */
  constructor(initial: Uint8Array, words: readonly number[], start: readonly Progress[]) {
    this.memory = new Memory(initial);
    this.progress = [...start];
    this.begun = start.map(() => []);
    this.#words = words;
    this.#halves = new Int32Array(2 * words.length);
    this.#contentsOf = new Numbering(this.#halves.length);
    this.#history = start.map(() => 0);
    this.#order = [...start.keys()];
    this.#alike = [...new Set(start)]
      .map((behaviour) => this.#order.filter((thread) => start[thread] === behaviour))
      .filter(({ length }) => length > 1);
    this.#state = new Int32Array(1 + OF_THREAD * start.length);
    this.#states = new Numbering(this.#state.length);
    this.#contents = this.#numberContents();
  }

  #numberContents(): number {
    this.memory.copy(this.#words, this.#halves);
    return this.#contentsOf.numberOf(this.#halves);
  }

  /** A number for the contents of the words. */
  get contents(): number {
    return this.#contents;
  }

  /** A number for everything that determines what can follow. */
  get state(): number {
    const isChanged = this.#arrange();
    this.#state[0] = this.#contents;
    let at = 1;
    for (const thread of this.#order) {
      this.#state[at++] = this.#futureOf(thread);
      this.#state[at++] = isChanged ? this.#arrangedHistory(thread) : this.#historyOf(thread);
    }
    return this.#states.numberOf(this.#state);
  }

  /** A number for what a thread can still do. */
  #futureOf(thread: number): number {
    const { isAtEnd, id, outcome } = this.progress[thread] as Progress; // one for each thread
    if (thread === this.stopped) return 3 * outcome + 2;
    // For a thread without further steps only its results matter.
    return isAtEnd ? 3 * outcome + 1 : 3 * id;
  }

  #historyOf(thread: number): number {
    return this.#history[thread] as number; // one for each thread
  }

  /** Puts threads that are alike in an order of their own. Returns whether that moves any. */
  #arrange(): boolean {
    let isChanged = false;
    for (const group of this.#alike) {
      const sorted = [...group].sort(
        (a, b) => this.#futureOf(a) - this.#futureOf(b) || this.#historyOf(a) - this.#historyOf(b),
      );
      for (const [at, place] of group.entries()) {
        const thread = sorted[at] ?? place;
        this.#order[place] = thread;
        isChanged ||= thread !== place;
      }
    }
    return isChanged;
  }

  /** A number for a thread's history, told with the threads in their arranged order. */
  #arrangedHistory(thread: number): number {
    const begun = (this.begun[thread] ?? []).map(
      (returned) => returned && this.#order.map((other) => returned[other] ?? 0),
    );
    return this.#numberHistory(begun);
  }

  #numberHistory(begun: readonly (Returned | undefined)[]): number {
    const text = begun.map((returned) => returned && `/${returned}`).join('');
    const known = this.#histories.get(text);
    if (known !== undefined) return known;
    this.#histories.set(text, this.#histories.size);
    return this.#histories.size - 1;
  }

  /** The threads that have a next step. */
  get able(): number[] {
    const able: number[] = [];
    for (let thread = 0; thread < this.progress.length; thread++) {
      if (thread !== this.stopped && this.progress[thread]?.isAtEnd === false) able.push(thread);
    }
    return able;
  }

  /** The schedule as a thread alone follows it: its turns, and what the others wrote in between. */
  alone(thread: number): { readonly schedule: number[]; readonly values: bigint[] } {
    const schedule: number[] = [];
    const values: bigint[] = [];
    for (const [at, turn] of this.path.entries()) {
      const word = this.#changed[at] ?? -1;
      if (turn !== thread && word < 0) continue;
      schedule.push(turn === thread ? thread : word + WRITTEN);
      values.push(this.#values[at] ?? 0n);
    }
    return { schedule, values };
  }

  /** Takes a step, calls `visit`, and undoes the step. */
  go<T>({ thread, step, before, after }: Move, visit: () => T): T {
    const begun = this.begun[thread] ?? [];
    const word = wordOf(step.address);
    const old = this.memory.word(word);
    const contents = this.#contents;
    const history = this.#historyOf(thread);
    if (before.begins) {
      begun[step.operation] = this.progress.map(({ done }) => done);
      this.#history[thread] = this.#numberHistory(begun);
    }
    const isWritten = this.memory.changes(step);
    if (isWritten) {
      this.memory.take(step);
      this.#contents = this.#numberContents();
    }
    this.progress[thread] = after;
    this.path.push(thread);
    this.#changed.push(isWritten ? word : -1);
    this.#values.push(isWritten ? this.memory.word(word) : 0n);
    const visited = visit();

    this.#values.pop();
    this.#changed.pop();
    this.path.pop();
    this.progress[thread] = before;
    if (isWritten) this.memory.setWord(word, old);
    this.#contents = contents;
    if (before.begins) {
      begun.length = step.operation;
      this.#history[thread] = history;
    }
    return visited;
  }

  /**
   * Stops a thread forever, calls `visit`, and undoes that. It commutes with all steps of others.
   */
  stop<T>(thread: number, visit: () => T): T {
    this.stopped = thread;
    this.path.push(thread + STOPS);
    this.#changed.push(-1);
    this.#values.push(0n);
    const visited = visit();
    this.#values.pop();
    this.#changed.pop();
    this.path.pop();
    this.stopped = -1;
    return visited;
  }
}
