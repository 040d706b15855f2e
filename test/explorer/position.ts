import type { Progress } from './behaviour.ts';
import type { Returned } from './exploration.ts';
import { Memory, type Step, wordOf } from './step.ts';
import { STOPS } from './turns.ts';

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
  readonly #words: readonly number[];
  /** {@link begun} as text. */
  readonly #begunText: string[];
  /** A number for the contents of the words. */
  #contents: number;
  readonly #contentsOf = new Map<string, number>();

  /** `words` are the words that threads write. */
  constructor(initial: Uint8Array, words: readonly number[], start: readonly Progress[]) {
    this.memory = new Memory(initial);
    this.progress = [...start];
    this.begun = start.map(() => []);
    this.#words = words;
    this.#begunText = start.map(() => '');
    this.#contents = this.#nameContents();
  }

  #nameContents(): number {
    const text = this.memory.text(this.#words);
    const known = this.#contentsOf.get(text);
    if (known !== undefined) return known;
    this.#contentsOf.set(text, this.#contentsOf.size);
    return this.#contentsOf.size - 1;
  }

  /** Everything that determines what can follow, as text. */
  get state(): string {
    let state = `${this.#contents}`;
    let thread = 0;
    for (const progress of this.progress) {
      const isStopped = thread === this.stopped;
      // For a thread without further steps only its results matter.
      state +=
        progress.isAtEnd || isStopped ? ` ${isStopped} ${progress.outcome}` : ` ${progress.id}`;
      state += this.#begunText[thread++];
    }
    return state;
  }

  /** The threads that have a next step. */
  get able(): number[] {
    return [...this.progress.keys()].filter(
      (thread) => thread !== this.stopped && this.progress[thread]?.isAtEnd === false,
    );
  }

  /** Lets a thread take its step, calls `visit`, and undoes the step. */
  go<T>(thread: number, step: Step, before: Progress, after: Progress, visit: () => T): T {
    const begun = this.begun[thread] ?? [];
    const word = wordOf(step.address);
    const old = this.memory.word(word);
    const contents = this.#contents;
    const text = this.#begunText[thread] ?? '';
    if (before.begins) {
      const returned = this.progress.map(({ done }) => done);
      begun[step.operation] = returned;
      this.#begunText[thread] = `${text}/${returned}`;
    }
    if (this.memory.changes(step)) {
      this.memory.take(step);
      this.#contents = this.#nameContents();
    }
    this.progress[thread] = after;
    this.path.push(thread);
    const visited = visit();

    this.path.pop();
    this.progress[thread] = before;
    this.memory.setWord(word, old);
    this.#contents = contents;
    if (before.begins) {
      begun.length = step.operation;
      this.#begunText[thread] = text;
    }
    return visited;
  }

  /**
   * Stops a thread forever, calls `visit`, and undoes that. It commutes with all steps of others.
   */
  stop<T>(thread: number, visit: () => T): T {
    this.stopped = thread;
    this.path.push(thread + STOPS);
    const visited = visit();
    this.path.pop();
    this.stopped = -1;
    return visited;
  }
}
