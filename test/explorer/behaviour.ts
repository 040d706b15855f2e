import { isDeepStrictEqual } from 'node:util';
import type { TakenStep } from './run-log.ts';
import { type Step, sameStep, wordOf } from './step.ts';

/** How a step accesses its word. */
export const READ = 1;
export const WRITE = 2;

/**
 * A thread's behaviour after its steps have read certain values. A thread is deterministic, so
 * these values determine its next step and the results of its operations.
 */
export class Progress {
  readonly id: number;
  readonly parent: Progress | undefined;
  /** The next step; undefined at the end of the thread, or if not known yet. */
  step: Step | undefined;
  isAtEnd = false;
  /** The results of the completed operations. */
  results: readonly unknown[] = [];
  /** A number for the results, among those of the thread. */
  outcome = 0;
  readonly after = new Map<bigint, Progress>();
  /** How the thread accesses words from here on, as observed so far. */
  readonly future = new Map<number, number>();
  /** Accesses that the search assumed the thread not to make from here on. */
  readonly #avoided = new Map<number, number>();

  constructor(id: number, parent?: Progress) {
    this.id = id;
    this.parent = parent;
  }

  /** Whether the thread's continuation is known. */
  get isKnown(): boolean {
    return this.isAtEnd || this.step !== undefined;
  }

  /** Whether the next step is the first of its operation. */
  get begins(): boolean {
    return this.step !== undefined && this.step.operation !== this.parent?.step?.operation;
  }

  /** Number of completed operations. */
  get done(): number {
    return this.step?.operation ?? this.results.length;
  }

  /**
   * Whether the thread has not been observed to access a word in any of these ways from here on.
   */
  avoids(word: number, ways: number): boolean {
    if (((this.future.get(word) ?? 0) & ways) !== 0) return false;
    this.#avoided.set(word, (this.#avoided.get(word) ?? 0) | ways);
    return true;
  }

  /** Records an access. Returns whether the search had assumed that there would be none. */
  touch(word: number, ways: number): boolean {
    const known = this.future.get(word) ?? 0;
    if ((known & ways) === ways) return false;
    this.future.set(word, known | ways);
    return ((this.#avoided.get(word) ?? 0) & ways) !== 0;
  }
}

/** A thread's behaviour for all values it may read, as observed so far. */
export class Behaviour {
  readonly start: Progress;
  #count = 0;
  /** The number of each outcome, by the results as text. */
  readonly #outcomes = new Map([['[]', 0]]);
  /** Whether an assumption of the search turned out to be wrong. */
  isSurprised = false;

  constructor() {
    this.start = new Progress(this.#count++);
  }

  /** Adds the steps of a thread that ran to its end. */
  learn(taken: readonly TakenStep[], results: readonly unknown[]): void {
    let progress = this.start;
    for (const { step, seen } of taken) {
      this.#expect(progress, step, results);
      let next = progress.after.get(seen);
      if (next === undefined) {
        next = new Progress(this.#count++, progress);
        progress.after.set(seen, next);
      }
      progress = next;
    }
    if (progress.step !== undefined) throw new Error('a thread is not deterministic');
    progress.isAtEnd = true;
    this.#complete(progress, results);
  }

  #complete(progress: Progress, results: readonly unknown[]): void {
    const text = JSON.stringify(results);
    const outcome = this.#outcomes.get(text) ?? this.#outcomes.size;
    this.#outcomes.set(text, outcome);
    progress.results = results;
    progress.outcome = outcome;
  }

  #expect(progress: Progress, step: Step, results: readonly unknown[]): void {
    if (progress.step !== undefined) {
      const known = progress.results;
      const isSame = isDeepStrictEqual(known, results.slice(0, step.operation));
      if (sameStep(progress.step, step) && isSame) return;
      throw new Error('a thread is not deterministic');
    }
    if (progress.isAtEnd) throw new Error('a thread is not deterministic');
    progress.step = step;
    this.#complete(progress, results.slice(0, step.operation));
    const ways = step.kind === 'load' ? READ : step.kind === 'store' ? WRITE : READ | WRITE;
    const word = wordOf(step.address);
    for (let earlier: Progress | undefined = progress; earlier; earlier = earlier.parent) {
      if (((earlier.future.get(word) ?? 0) & ways) === ways) break;
      if (earlier.touch(word, ways)) this.isSurprised = true;
    }
  }
}
