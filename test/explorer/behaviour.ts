import { isDeepStrictEqual } from 'node:util';
import { type Step, sameStep, wordOf } from './step.ts';
import type { TakenStep } from './turns.ts';

/** How a step touches its word. */
export const READ = 1;
export const WRITE = 2;

/**
 * What a thread does after it has seen certain values. A thread is deterministic, so the values
 * that its steps saw say everything: which step comes next, and what its operations returned.
 */
export class Progress {
  readonly id: number;
  readonly parent: Progress | undefined;
  /** The step that comes next; undefined at the end of the thread, or where it is not known yet. */
  step: Step | undefined;
  isAtEnd = false;
  #results: readonly unknown[] = [];
  #outcome = '[]';
  readonly after = new Map<bigint, Progress>();
  /** How the thread touches words from here on, as far as it was seen. */
  readonly future = new Map<number, number>();
  /** Of these it was relied on that the thread does not touch them so from here on. */
  readonly #avoided = new Map<number, number>();

  constructor(id: number, parent?: Progress) {
    this.id = id;
    this.parent = parent;
  }

  /** What the operations returned that are done. */
  get results(): readonly unknown[] {
    return this.#results;
  }

  set results(results: readonly unknown[]) {
    this.#results = results;
    this.#outcome = JSON.stringify(results);
  }

  /** The same as text. */
  get outcome(): string {
    return this.#outcome;
  }

  /** Whether it is known how the thread goes on. */
  get isKnown(): boolean {
    return this.isAtEnd || this.step !== undefined;
  }

  /** Whether the next step is the first of its operation. */
  get begins(): boolean {
    return this.step !== undefined && this.step.operation !== this.parent?.step?.operation;
  }

  /** Operations that are done. */
  get done(): number {
    return this.step?.operation ?? this.results.length;
  }

  /** Whether the thread is not seen to touch a word in any of these ways from here on. */
  avoids(word: number, ways: number): boolean {
    if (((this.future.get(word) ?? 0) & ways) !== 0) return false;
    this.#avoided.set(word, (this.#avoided.get(word) ?? 0) | ways);
    return true;
  }

  /** Notes a touch; true if it was relied on that there would be none. */
  touch(word: number, ways: number): boolean {
    const known = this.future.get(word) ?? 0;
    if ((known & ways) === ways) return false;
    this.future.set(word, known | ways);
    return ((this.#avoided.get(word) ?? 0) & ways) !== 0;
  }
}

/** What a thread does, whatever it sees, as far as it was seen. */
export class Behaviour {
  readonly start: Progress;
  #count = 0;
  /** Whether something was seen that it was relied on not to happen. */
  isSurprised = false;

  constructor() {
    this.start = new Progress(this.#count++);
  }

  /** Adds what a thread did in one run; `isAtEnd` unless it was stopped. */
  learn(taken: readonly TakenStep[], results: readonly unknown[], isAtEnd: boolean): void {
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
    if (!isAtEnd) return;
    if (progress.step !== undefined) throw new Error('a thread is not deterministic');
    progress.isAtEnd = true;
    progress.results = results;
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
    progress.results = results.slice(0, step.operation);
    const ways = step.kind === 'load' ? READ : step.kind === 'store' ? WRITE : READ | WRITE;
    const word = wordOf(step.address);
    for (let earlier: Progress | undefined = progress; earlier; earlier = earlier.parent) {
      if (((earlier.future.get(word) ?? 0) & ways) === ways) break;
      if (earlier.touch(word, ways)) this.isSurprised = true;
    }
  }
}
